import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { visibleText } from './printing.ts'

/** A command line that makes no sense: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Prints an error for people, on stderr, and returns the exit code that it means. */
export function reportFailure(error: unknown, write: (text: string) => void): number {
  const message = error instanceof Error ? error.message : String(error)
  write(`boxyard: ${visibleText(message)}\n`)
  if (error instanceof UsageError) return 2
  if (!(error instanceof ApiError)) return 1
  for (const { pointer, detail } of error.errors.slice(1)) write(visibleText(`  ${pointer}: ${detail}\n`))
  if (error.status !== 401) return 1
  write('Log in with: boxyard login\n')
  return 4
}
