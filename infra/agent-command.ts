import { spawn } from 'node:child_process'
import { agentCommand } from './commands.ts'
import { createLineSplitter, parseLogLine } from './log-lines.ts'

/**
 * Runs a mode of the agent that ends by itself, such as `down`. Passes its stdout through; of its log, prints only progress,
 * errors and lines that are not JSON (warnings of Node.js), as plain text on stderr. Resolves with its exit code.
 */
export function runAgentCommand(args: readonly string[]): Promise<number> {
  const [program = '', ...rest] = agentCommand(args)
  const child = spawn(program, rest, { stdio: ['ignore', 'inherit', 'pipe'] })
  const splitter = createLineSplitter()
  const show = (line: string): void => {
    const { message, isProgress, isError } = parseLogLine(line)
    if (isProgress || isError || !line.startsWith('{')) process.stderr.write(`${message}\n`)
  }
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => splitter.push(text).forEach(show))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (splitter.rest() !== '') show(splitter.rest())
      resolve(code ?? 1)
    })
  })
}
