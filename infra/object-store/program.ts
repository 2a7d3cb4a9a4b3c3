import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'
import { dieWithParent } from '../commands.ts'

/**
 * The program of an S3-speaking server that checks signatures, built from its Go module on first use (some three minutes on
 * two cores) and kept outside the checkout; the answer is the reason where it cannot be.
 */
export async function findObjectStore(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const directory = programDirectory()
  const program = join(directory, 'versitygw')
  if (existsSync(program)) return program
  if (spawnSync('go', ['version']).status !== 0)
    return { obstacle: 'its server is built with Go, and there is no Go here' }
  return await withLock('object-store', async () => {
    // Another process may have built it while this one waited.
    if (!existsSync(program)) build(directory, say)
    return program
  })
}

function build(directory: string, say: (text: string) => void): void {
  say('Building an S3-speaking server from its Go module (only this once, some minutes)')
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const [go = '', ...args] = dieWithParent(['go', 'build', '-trimpath', '-ldflags', '-s -w', '-o', `${unfinished}/`])
  execFileSync(go, [...args, 'github.com/versity/versitygw/cmd/versitygw'], {
    cwd: import.meta.dirname,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  renameSync(unfinished, directory)
}

/** Named for what the program is made of, so that a changed version is built anew. */
function programDirectory(): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(import.meta.dirname, file)))
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'boxyard-object-store', hash.digest('hex').slice(0, 16))
}
