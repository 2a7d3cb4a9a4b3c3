import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { dieWithParent, ROOT } from '../commands.ts'

/**
 * Runs a command of the Serverless Framework (osls) on this repository, with its output on this terminal.
 * @throws Error unless it succeeds
 */
export async function runServerless(command: 'deploy' | 'remove', options: readonly string[]): Promise<void> {
  const [program = '', ...args] = dieWithParent(serverlessCommand(command, options))
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, SLS_NOTIFICATIONS_MODE: 'off' },
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`The ${command} failed. See the output above.`)
}

/**
 * Returns a command of the Serverless Framework, to run in this repository. It waits for other runs in the same checkout, because each
 * empties `.serverless`, which the others still read.
 */
export function serverlessCommand(command: 'deploy' | 'package' | 'remove', options: readonly string[]): string[] {
  mkdirSync(join(ROOT, '.build'), { recursive: true })
  const lock = ['flock', '--no-fork', join(ROOT, '.build/serverless.lock')]
  return [...lock, ...SERVERLESS, command, ...options]
}

/** The Serverless Framework's program, the first word of a command. */
export const SERVERLESS = [process.execPath, join(ROOT, 'node_modules/serverless/bin/serverless.js')]
