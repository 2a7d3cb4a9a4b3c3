import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COPY_TABLE, type CopySide, expectedOf, tryCopies } from '../helpers/clients/copy-table.ts'
import { startDockerPeer } from './docker-peer.ts'

/**
 * Compares the table of `cp` with this machine's docker, in both directions, and prints the rows that differ. @throws Error if any row
 * differs
 */
export async function benchCopies(): Promise<void> {
  const docker = await startDockerPeer()
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-copies-'))
  try {
    await docker.createAndStart('copies')
    const here = join(directory, 'here')
    const run = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)('docker', args, { cwd: here, env: { ...process.env, DOCKER_HOST: docker.host } }))
        .stdout
    const copy = (from: string, to: string): Promise<boolean> =>
      run('cp', from, to).then(
        () => true,
        () => false,
      )
    const shell = (line: string): Promise<string> => run('exec', 'copies', 'sh', '-c', line)
    const expected = expectedOf(COPY_TABLE, 'docker')
    let differing = 0
    for (const direction of ['up', 'down'] as const) {
      const side: CopySide = {
        shell,
        copy: (from, to) => (direction === 'up' ? copy(from, `copies:${to}`) : copy(`copies:${from}`, to)),
      }
      const seen = await tryCopies(COPY_TABLE, { direction, here, side })
      for (const [row, change] of Object.entries(seen)) {
        if (change === expected[row]) continue
        differing++
        process.stdout.write(`${direction}: ${row}: docker: ${change}; table: ${expected[row]}\n`)
      }
    }
    process.stdout.write(`${2 * COPY_TABLE.length} copies, ${differing} of which docker makes differently\n`)
    if (differing > 0) throw new Error('The table of copies is not what docker does.')
  } finally {
    rmSync(directory, { recursive: true, force: true })
    await docker.close()
  }
}
