import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { ROOT } from '../commands.ts'

/** Directory of this checkout's web console, once it is built. */
export const CONSOLE_DIRECTORY = join(ROOT, '.build/console')

/** Builds the web console, unless it was built from this source. */
export function ensureConsole(): void {
  const stamp = join(ROOT, '.build/console.stamp')
  const source = sourceHash()
  if (existsSync(CONSOLE_DIRECTORY) && existsSync(stamp) && readFileSync(stamp, 'utf8') === source) return
  process.stdout.write('Building the web console (about 10 s)\n')
  rmSync(stamp, { force: true })
  buildConsole(CONSOLE_DIRECTORY)
  writeFileSync(stamp, source)
}

/**
 * Builds the web console into `directory`, with compressed files beside its files. Replaces the previous build at the end. Installs missing
 * packages.
 */
export function buildConsole(directory: string): void {
  const made = `${directory}.${process.pid}`
  const old = `${made}.old`
  try {
    mkdirSync(join(ROOT, '.build'), { recursive: true })
    run(['bash', join(ROOT, 'infra/setup.sh'), 'web'])
    run([process.execPath, join(ROOT, 'web/build.ts'), made])
    for (const path of filesBelow(made)) compress(path)
    if (existsSync(directory)) renameSync(directory, old)
    renameSync(made, directory)
  } finally {
    for (const each of [made, old]) rmSync(each, { recursive: true, force: true })
  }
}

function compress(path: string): void {
  if (!/\.(js|css|html|svg)$/.test(path)) return
  const content = readFileSync(path)
  writeFileSync(`${path}.br`, brotliCompressSync(content))
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
}

/** Hashes all files that the build reads. */
function sourceHash(): string {
  const hash = createHash('sha256')
  const paths = ['web', 'sdk/typescript/src'].flatMap((folder) => filesBelow(join(ROOT, folder)))
  for (const path of [...paths, join(ROOT, 'infra/web/build.ts')].toSorted()) {
    hash
      .update(`${relative(ROOT, path)}\n`)
      .update(readFileSync(path))
      .update('\n')
  }
  return hash.digest('hex')
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return entry.isFile() ? [path] : []
    return entry.name === 'node_modules' ? [] : filesBelow(path)
  })
}

function run([program = '', ...args]: readonly string[]): void {
  // A test may run this build, and its NODE_ENV would build React with the paths of its sources.
  const env = { ...process.env, NODE_ENV: 'production' }
  // A release prints its files on stdout.
  const { status, error } = spawnSync(program, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] })
  if (error) throw error
  if (status !== 0) throw new Error(`"${[program, ...args].join(' ')}" failed with code ${status}.`)
}
