import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { systemText } from './system-text.ts'
import { reportLine } from './terminal.ts'

/** An invalid command line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Prints an error for people on stderr, and returns its exit code. `placeOf` maps a JSON pointer to the fault's place in the command line.
 */
export function reportFailure(error: unknown, placeOf: (pointer: string) => string = (pointer) => pointer): number {
  const [first = '', ...more] = linesOf(error, placeOf)
  reportLine(`boxyard: ${first}`)
  for (const line of more) reportLine(`  ${line}`)
  if (error instanceof UsageError) return 2
  if (!(error instanceof ApiError)) return 1
  const way = Object.hasOwn(WAYS, error.code) ? WAYS[error.code] : undefined
  if (way !== undefined) reportLine(way)
  if (error.status !== 401) return 1
  reportLine('Log in with: boxyard login')
  return 4
}

function linesOf(error: unknown, placeOf: (pointer: string) => string): string[] {
  if (error instanceof ApiError && error.errors.length > 0)
    return error.errors.map(({ pointer, detail }) => `${placeOf(pointer)}: ${detail}`)
  return [pathText(error) ?? (error instanceof Error ? error.message : String(error))]
}

/** Returns the path and reason of a failed system call, or null for another error. */
function pathText(error: unknown): string | null {
  if (!(error instanceof Error && 'path' in error)) return null
  const text = systemText(error)
  return text === null ? null : `${String(error.path)}: ${text}`
}

/** Commands that show the limit of a refused request, by error code. */
const WAYS: Readonly<Record<string, string>> = {
  permission_denied: 'To see what your token allows: boxyard me',
  quota_exceeded: 'To see limits and usage: boxyard quota, boxyard limits',
}
