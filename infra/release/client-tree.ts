import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Esbuild from 'esbuild'
import { ROOT } from '../commands.ts'

/** Lays out the sources of the clients at a commit, with the packages of builds, in a new directory in `directory`. Returns its path. */
export function layOutClients(commit: string, directory: string): string {
  const tree = join(directory, 'clients')
  mkdirSync(tree)
  const files = execFileSync('git', ['archive', commit, ...PARTS], { cwd: ROOT, maxBuffer: ARCHIVE_BYTES })
  execFileSync('tar', ['-x', '-C', tree], { input: files })
  symlinkSync(packagesOfBuild(), join(tree, 'node_modules'))
  return tree
}

/**
 * Returns the directory of the packages of builds. A release is made from a clone without packages. It uses the packages of the checkout
 * whose Node.js runs this.
 */
export function packagesOfBuild(): string {
  return dirname(dirname(createRequire(process.execPath).resolve('esbuild/package.json')))
}

/** Loads esbuild from the packages of builds. */
export function loadEsbuild(): typeof Esbuild {
  return createRequire(process.execPath)('esbuild') as typeof Esbuild
}

const PARTS = ['sdk/typescript', 'cli', 'tsconfig.json', 'LICENSE']
const ARCHIVE_BYTES = 64 * 1024 ** 2
