import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Esbuild from 'esbuild'
import { cliBundle } from '../cli-bundle.ts'
import { ROOT } from '../commands.ts'
import { runNpm } from '../made-once/npm.ts'

/** Packs the command line and the TypeScript SDK of a commit as npm packages in `directory`, and returns their paths. */
export function packClients(commit: string, directory: string): string[] {
  const tree = join(directory, 'clients')
  mkdirSync(tree)
  const files = execFileSync('git', ['archive', commit, ...PARTS], { cwd: ROOT, maxBuffer: ARCHIVE_BYTES })
  execFileSync('tar', ['-x', '-C', tree], { input: files })
  symlinkSync(packagesOfBuild(), join(tree, 'node_modules'))
  return [packCli(tree, directory), packSdk(tree, directory)]
}

/**
 * Packs the TypeScript SDK of the files below `tree`, which has the packages of builds, as npm installs it: one module for all
 * runtimes, and its types. Returns the path, in `directory`.
 */
export function packSdk(tree: string, directory: string): string {
  const from = join(tree, 'sdk/typescript')
  const stage = join(directory, 'sdk')
  const entry = join(from, 'src/index.ts')
  const { dependencies } = readManifest(from)
  esbuild().buildSync({
    absWorkingDir: tree,
    entryPoints: [entry],
    outfile: join(stage, 'dist/index.js'),
    external: Object.keys(dependencies ?? {}),
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    format: 'esm',
    logLevel: 'warning',
  })
  emitTypes({ tree, entry, stage })
  cpSync(join(from, 'README.md'), join(stage, 'README.md'))
  return pack(tree, from, stage)
}

function packCli(tree: string, directory: string): string {
  const stage = join(directory, 'cli')
  esbuild().buildSync(cliBundle(tree, join(stage, 'dist/boxyard.mjs')))
  return pack(tree, join(tree, 'cli'), stage)
}

/** Writes the declarations of what `entry` exports, and of all that it names, to `dist`. */
function emitTypes({ tree, entry, stage }: { tree: string; entry: string; stage: string }): void {
  const configuration = join(stage, 'tsconfig.json')
  const compilerOptions = {
    ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rewriteRelativeImportExtensions: true },
    ...{ outDir: join(stage, 'dist'), rootDir: dirname(entry), typeRoots: [join(tree, 'node_modules/@types')] },
  }
  const settings = { extends: join(tree, 'tsconfig.json'), compilerOptions, include: [], files: [entry] }
  writeFileSync(configuration, JSON.stringify(settings))
  const compiler = join(packagesOfBuild(), 'typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', configuration], { stdio: ['ignore', 'inherit', 'inherit'] })
}

function pack(tree: string, from: string, stage: string): string {
  cpSync(join(from, 'package.json'), join(stage, 'package.json'))
  cpSync(join(tree, 'LICENSE'), join(stage, 'LICENSE'))
  const packed = runNpm(['pack', '--json', '--ignore-scripts', '--pack-destination', dirname(stage)], {
    cwd: stage,
    timeoutMs: LIMIT_MS,
  })
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  return join(dirname(stage), filename)
}

function readManifest(directory: string): { dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { dependencies?: Record<string, string> }
}

// A commit is released from a clone without packages: those of the checkout whose Node.js runs this are taken.
function packagesOfBuild(): string {
  return dirname(dirname(createRequire(process.execPath).resolve('esbuild/package.json')))
}

function esbuild(): typeof Esbuild {
  return createRequire(process.execPath)('esbuild') as typeof Esbuild
}

const PARTS = ['sdk/typescript', 'cli', 'tsconfig.json', 'LICENSE']
const ARCHIVE_BYTES = 64 * 1024 ** 2
const LIMIT_MS = 5 * 60_000
