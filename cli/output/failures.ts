import { reachOf } from '../../sdk/typescript/src/addresses.ts'
import { ApiError, ConnectionError, type RequestFault } from '../../sdk/typescript/src/api-error.ts'
import { systemText } from './system-text.ts'
import { reportLine } from './terminal.ts'

/** An invalid command line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Translates words of the API in errors to words of the command line. */
export interface FailureWords {
  /** Describes a fault with its place in the command line. */
  describe(fault: RequestFault): string
  /** Replaces requests and fields in a message by commands and flags. */
  translate(message: string): string
  /** As `ways` of a command. */
  ways?: Readonly<Record<string, string>>
}

/** Prints an error for people on stderr, and returns its exit code. */
export function reportFailure(error: unknown, words: FailureWords = API_WORDS): number {
  const [first = '', ...more] = linesOf(error, words)
  reportLine(`boxyard: ${first}`)
  for (const line of more) reportLine(`  ${line}`)
  if (error instanceof UsageError) return 2
  if (error instanceof ConnectionError && isRefusedHere(error)) reportLine(NOT_RUNNING)
  if (!(error instanceof ApiError)) return 1
  const ways = { ...WAYS, ...words.ways }
  const way = Object.hasOwn(ways, error.code) ? ways[error.code] : undefined
  if (way !== undefined) reportLine(way)
  if (beyondOf(error)?.pointer === '/expires_in_seconds') reportLine(LONGER)
  if (error.status !== 401) return 1
  reportLine('Log in with: boxyard login')
  return 4
}

function linesOf(error: unknown, { describe, translate }: FailureWords): string[] {
  const beyond = error instanceof ApiError ? beyondOf(error) : null
  const faults = error instanceof ApiError ? [...(beyond === null ? [] : [beyond]), ...error.errors] : []
  if (faults.length > 0) return faults.map(({ pointer, detail }) => describe({ pointer, detail: translate(detail) }))
  if (error instanceof ApiError) return [translate(messageOf(error))]
  return [pathText(error) ?? (error instanceof Error ? error.message : String(error))]
}

/** Returns the message without headers and fields of the API that no flag sets. */
function messageOf({ code, message }: ApiError): string {
  if (code === 'token_missing') return NO_TOKEN
  const text = code === 'permission_denied' ? message.replace(/^`(permissions|projects)`: /, '') : message
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** Returns whether this machine refused a connection, so that the service does not run. */
function isRefusedHere(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && error.code === 'ECONNREFUSED' && 'address' in error) {
    const address = String(error.address)
    return reachOf(address.includes(':') ? `[${address}]` : address) === 'loopback'
  }
  // A name with several addresses has an error for each.
  return isRefusedHere(error.cause) || (error instanceof AggregateError && error.errors.some(isRefusedHere))
}

/** Returns the field of a new token that asks for more than the token that creates it has. */
function beyondOf({ code, message }: ApiError): RequestFault | null {
  const [, field, detail = ''] = /^`([a-z_]+)`: (at most [^]*)$/.exec(message) ?? []
  return code === 'permission_denied' && field !== undefined ? { pointer: `/${field}`, detail } : null
}

/** Returns the path and reason of a failed system call, or null for another error. */
function pathText(error: unknown): string | null {
  if (!(error instanceof Error && 'path' in error)) return null
  const text = systemText(error)
  return text === null ? null : `${String(error.path)}: ${text}`
}

/** Leaves messages as the API writes them. */
const API_WORDS: FailureWords = {
  describe: ({ pointer, detail }) => `${pointer}: ${detail}`,
  translate: (message) => message,
}

/** The way to a token that lives longer than any that the API can create. */
const LONGER =
  'For a token that lives longer, run boxyard admin token --expires 90d on the host, or npm run token in a checkout.'
const NO_TOKEN = "No token. Set BOXYARD_TOKEN, or BOXYARD_DATA_DIR to the service's data directory on its host."
const NOT_RUNNING =
  'Is Boxyard running on this machine? Start it with npm run up in a checkout. With the package, see systemctl status boxyard-agent.'
/** Commands that show the limit of a refused request, by error code. */
const WAYS: Readonly<Record<string, string>> = {
  permission_denied: 'To see what your token allows: boxyard me',
  quota_exceeded: 'To see limits and usage: boxyard quota, boxyard limits',
}
