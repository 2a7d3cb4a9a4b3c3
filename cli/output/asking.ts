import { InterruptError } from './interrupts.ts'
import { reportLine } from './terminal.ts'
import { visibleText } from './visible-text.ts'

/** Returns whether a user can answer a question, because stdin and stderr are terminals. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Reports that the user did not confirm a deletion, and returns the exit code. */
export function reportCanceled(): number {
  reportLine('Canceled. Nothing was deleted.')
  return 1
}

/** Asks a question on the terminal. Any answer but y and yes is a no. @throws InterruptError */
export async function askYes(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await new Promise((resolve, reject) => {
      lines.once('SIGINT', () => reject(new InterruptError('SIGINT')))
      // At the end of the input.
      lines.once('close', () => resolve(false))
      lines.question(`${visibleText(question)} [y/N] `, (answer) => resolve(/^\s*y(es)?\s*$/i.test(answer)))
    })
  } finally {
    lines.close()
  }
}
