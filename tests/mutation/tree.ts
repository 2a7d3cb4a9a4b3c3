import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { listMutants, type Mutant } from './mutants.ts'
import { compareSites } from './operators.ts'
import { switchModule, weaveMutants } from './schemata.ts'

/** A copy of the checkout with mutants in its sources, and the files that control them. */
export interface MutatedTree {
  directory: string
  /** Cache of jest. */
  cache: string
  /** Numbers of the active mutants, one per line. */
  active: string
  /** Numbers of the mutants that any process reached. */
  reached: string
}

/** Lists all mutants of the product's sources below `paths`. */
export function findMutants(root: string, paths: readonly string[]): Mutant[] {
  const files = listFiles(root, paths).filter((file) => file.endsWith('.ts') && !TEXTS.test(file))
  return files.flatMap((file) => listMutants(file, readFileSync(join(root, file), 'utf8')))
}

/** Makes the tree in `directory`. A mutant's number is its index in `mutants`. */
export function makeMutatedTree(root: string, directory: string, mutants: readonly Mutant[]): MutatedTree {
  const tree = join(directory, 'tree')
  const paths = {
    directory: tree,
    cache: join(directory, 'cache'),
    active: join(directory, 'active'),
    reached: join(directory, 'reached'),
  }
  rmSync(tree, { recursive: true, force: true })
  for (const file of listFiles(root, [])) cpSync(join(root, file), join(tree, file))
  for (const modules of MODULES)
    if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(tree, modules))
  writeFileSync(join(tree, SWITCH_FILE), switchModule(paths))
  const numbered = mutants.map((mutant, number) => ({ ...mutant, number }))
  for (const [file, own] of Map.groupBy(numbered, ({ file }) => file)) {
    const path = join(tree, file)
    const sorted = own.toSorted(compareSites)
    writeFileSync(
      path,
      weaveMutants(readFileSync(path, 'utf8'), sorted, relative(dirname(path), join(tree, SWITCH_FILE))),
    )
  }
  return paths
}

/** Lists the files in `root` that git tracks or would add. */
export function listFiles(root: string, paths: readonly string[]): string[] {
  const command = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths]
  const listed = execFileSync('git', command, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  return [...new Set(listed.split('\0'))].filter((file) => file !== '' && existsSync(join(root, file))).sort()
}

/** Texts and examples of the documentation. */
const TEXTS = /^shared\/(examples\/|problem-texts\.ts)/
const MODULES = ['node_modules', 'web/node_modules']
const SWITCH_FILE = 'mutants.mjs'
