import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../infra/commands.ts'

/** Runs a Node.js program from node_modules to completion in the directory `cwd`. */
export function runTool(cwd: string, [program = '', ...args]: readonly string[]): { exitCode: number; stdout: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { PATH: process.env['PATH'] },
  })
  if (status === null) throw new Error(`${program} was ended by a signal: ${stderr}`)
  return { exitCode: status, stdout: stdout || stderr }
}
