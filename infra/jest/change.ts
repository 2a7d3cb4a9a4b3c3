import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { ROOT } from '../commands.ts'
import type { Candidate, CodeChange } from './choice.ts'
import type { Suite } from './suite.ts'

/**
 * Reads from git what changed since the merge base with main, or if HEAD is on main, since its first parent. Includes uncommitted changes.
 * Without a parent every file counts.
 */
export function readChange(): CodeChange {
  const commits = Number(git('rev-list', '--count', 'HEAD') ?? 1)
  const base = baseOfChange()
  const untracked = linesOf(git('ls-files', '--others', '--exclude-standard'))
  if (base === null)
    return { files: [...linesOf(git('ls-files')), ...untracked], since: 'nothing: HEAD has no parent', commits }
  const files = linesOf(git('diff', '--name-only', '--no-renames', base.commit))
  return { files: [...files, ...untracked], since: base.what, commits }
}

/** Adds to each suite its test files and their direct and indirect imports. */
export function describeCandidates(suites: readonly Suite[]): Candidate[] {
  const graph = new Map<string, readonly string[]>()
  return suites.map((suite) => {
    const testFiles = findTestFiles(suite)
    return { suite, testFiles, imports: reach(testFiles, graph) }
  })
}

/** Returns the paths of a suite's test files, from the root of the repository. */
export function findTestFiles({ paths, ignored = [] }: Suite): Set<string> {
  const wanted = paths.map((pattern) => new RegExp(pattern))
  const unwanted = ignored.map((pattern) => new RegExp(pattern))
  const files = globSync('tests/**/*.test.ts', { cwd: ROOT }).sort()
  const matches = (patterns: readonly RegExp[], file: string): boolean => patterns.some((pattern) => pattern.test(file))
  return new Set(files.filter((file) => matches(wanted, file) && !matches(unwanted, file)))
}

interface Base {
  commit: string
  what: string
}

function baseOfChange(): Base | null {
  const head = git('rev-parse', 'HEAD')
  const main = git('rev-parse', '--verify', '--quiet', 'main') ?? git('rev-parse', '--verify', '--quiet', 'origin/main')
  const fork = main === null ? null : git('merge-base', 'HEAD', main)
  if (fork !== null && fork !== head) return { commit: fork, what: `the merge base with main (${fork.slice(0, 8)})` }
  const parent = git('rev-parse', '--verify', '--quiet', 'HEAD^1')
  return parent === null ? null : { commit: parent, what: `the first parent (${parent.slice(0, 8)})` }
}

function git(...args: string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return status === 0 ? stdout.trim() : null
}

function linesOf(text: string | null): string[] {
  return (text ?? '').split('\n').filter((line) => line !== '')
}

function reach(from: Iterable<string>, graph: Map<string, readonly string[]>): Set<string> {
  const found = new Set<string>()
  const waiting = [...from]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    let imports = graph.get(file)
    if (imports === undefined) graph.set(file, (imports = readImports(file)))
    waiting.push(...imports)
  }
  return found
}

/** Returns the files of the repository that a module imports. */
function readImports(file: string): string[] {
  if (!/\.(ts|tsx|mjs)$/.test(file)) return []
  const { importedFiles } = ts.preProcessFile(readFileSync(join(ROOT, file), 'utf8'), true, true)
  return importedFiles.flatMap(({ fileName }) => {
    if (fileName === SDK.name) return [SDK.path]
    if (!fileName.startsWith('.')) return []
    const path = normalize(join(dirname(file), fileName))
    return existsSync(join(ROOT, path)) ? [path] : []
  })
}

/** The same as in jest.config.mjs. */
const SDK = { name: '@boxyard/sdk', path: 'sdk/typescript/src/index.ts' }
