import { spawn } from 'node:child_process'
import { agentCommand } from './commands.ts'

/** Runs a mode of the agent that exits without a signal, such as `down`, with the terminal of this process. Resolves with its exit code. */
export function runAgentCommand(args: readonly string[]): Promise<number> {
  const [program = '', ...rest] = agentCommand(args)
  const child = spawn(program, rest, { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}
