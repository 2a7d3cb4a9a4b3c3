import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { cliBundles } from '../cli-bundle.ts'
import { runNpm } from '../made-once/npm.ts'
import { loadEsbuild, packagesOfBuild } from './client-tree.ts'

/** Packs the command line and the TypeScript SDK in `tree` as npm packages in `directory`. Returns their paths. */
export async function packClients(tree: string, directory: string): Promise<string[]> {
  return [await packCli(tree, directory), await packSdk(tree, directory)]
}

/**
 * Packs the TypeScript SDK below `tree`, which has the packages of builds, as npm installs it: one module for all runtimes, and its types.
 * Returns the path, in `directory`.
 */
export async function packSdk(tree: string, directory: string): Promise<string> {
  const from = join(tree, 'sdk/typescript')
  const stage = join(directory, 'sdk')
  const entry = join(from, 'src/index.ts')
  const { dependencies } = readManifest(from)
  loadEsbuild().buildSync({
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
  return await pack(tree, from, stage)
}

/** Packs the command line of the files below `tree`. Returns the path, in `directory`. */
export async function packCli(tree: string, directory: string): Promise<string> {
  const stage = join(directory, 'cli')
  const { buildSync } = loadEsbuild()
  for (const bundle of cliBundles(tree, join(stage, 'dist'))) buildSync(bundle)
  return await pack(tree, join(tree, 'cli'), stage)
}

/** Writes the declarations of the exports of `entry`, and of everything that they name, to `dist`. */
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

async function pack(tree: string, from: string, stage: string): Promise<string> {
  cpSync(join(from, 'package.json'), join(stage, 'package.json'))
  cpSync(join(tree, 'LICENSE'), join(stage, 'LICENSE'))
  const packed = await runNpm(['pack', '--json', '--ignore-scripts', '--pack-destination', dirname(stage)], {
    what: `Packing ${basename(stage)}`,
    cwd: stage,
    say: (text) => void process.stderr.write(`${text}\n`),
  })
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  return join(dirname(stage), filename)
}

function readManifest(directory: string): { dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { dependencies?: Record<string, string> }
}
