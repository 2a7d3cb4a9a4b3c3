import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'
import { dieWithParent } from '../commands.ts'

/** A program that tests use as a peer. */
export interface GoProgram {
  /** Directory of the `go.mod` and `go.sum` that pin it. */
  directory: string
  /** Path of the Go package; its last part is the name of the program. */
  package: string
  /** Description with an article, for messages. */
  what: string
}

/** Builds a program from its Go module on first use and keeps it outside the checkout; returns its path, or why it cannot be built. */
export async function findGoProgram(
  wanted: GoProgram,
  say: (text: string) => void,
): Promise<string | { obstacle: string }> {
  const directory = programDirectory(wanted)
  const program = join(directory, basename(wanted.package))
  if (existsSync(program)) return program
  if (spawnSync('go', ['version']).status !== 0)
    return { obstacle: `${wanted.what} is built with Go, and there is no Go here` }
  return await withLock(basename(wanted.directory), async () => {
    // Another process may have built it while this one waited.
    if (!existsSync(program)) build(wanted, directory, say)
    return program
  })
}

function build(wanted: GoProgram, directory: string, say: (text: string) => void): void {
  say(`Building ${wanted.what} from its Go module (only this once, some minutes)`)
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const [go = '', ...args] = dieWithParent(['go', 'build', '-trimpath', '-ldflags', '-s -w', '-o', `${unfinished}/`])
  execFileSync(go, [...args, wanted.package], {
    cwd: wanted.directory,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: BUILD_LIMIT_MS,
  })
  renameSync(unfinished, directory)
}

/** Names the directory by a hash of the module files, so that a changed version is built anew. */
function programDirectory({ directory }: GoProgram): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(directory, file)))
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, `boxyard-${basename(directory)}`, hash.digest('hex').slice(0, 16))
}

/** The longest build: on two cores it takes minutes, but a module server that hangs would block it for ever. */
export const BUILD_LIMIT_MS = 20 * 60_000
