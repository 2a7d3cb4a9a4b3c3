import { getSystemErrorMap } from 'node:util'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { reportLine } from './terminal.ts'

/** A command line that makes no sense: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Prints an error for people, on stderr, and returns the exit code that it means. `placeOf` says where in the command line the
 * fault is that a JSON pointer tells of.
 */
export function reportFailure(error: unknown, placeOf: (pointer: string) => string = (pointer) => pointer): number {
  const [first = '', ...more] = linesOf(error, placeOf)
  reportLine(`boxyard: ${first}`)
  for (const line of more) reportLine(`  ${line}`)
  if (error instanceof UsageError) return 2
  if (!(error instanceof ApiError) || error.status !== 401) return 1
  reportLine('Log in with: boxyard login')
  return 4
}

function linesOf(error: unknown, placeOf: (pointer: string) => string): string[] {
  if (error instanceof ApiError && error.errors.length > 0)
    return error.errors.map(({ pointer, detail }) => `${placeOf(pointer)}: ${detail}`)
  return [systemText(error) ?? (error instanceof Error ? error.message : String(error))]
}

/** Says of a refused system call what the system says, as other programs do; null for another error. */
function systemText(error: unknown): string | null {
  if (!(error instanceof Error && 'errno' in error && typeof error.errno === 'number' && 'path' in error)) return null
  const [, text] = getSystemErrorMap().get(error.errno) ?? []
  return text === undefined ? null : `${String(error.path)}: ${text}`
}
