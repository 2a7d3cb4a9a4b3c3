import { ConnectionError } from './api-error.ts'
import { parseJson } from './problems.ts'

/** How a command ended: with a code (128 + n for a signal), or null where nobody knows, with a message. */
export interface ExecEnd {
  exitCode: number | null
  message: string | null
  /** Why it could not be started, such as `process_limit_reached`; absent: it was, or its output tells. */
  reason?: string
  /** Processes that were killed while it ran because the memory of the box was full; absent: none. */
  oomKills?: number
}

/** Makes the end by what the service calls an exit code. What is none, such as 256, is not known, and never a success. */
export function endByCode(code: unknown, message: string | null): ExecEnd {
  if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return { exitCode: code, message }
  return { exitCode: null, message: `The service gave an exit code that is none: ${String(code).slice(0, 40)}` }
}

/** Reads a Kubernetes `Status`. @throws ConnectionError for what is none */
export function endOfStatus(bytes: Uint8Array): ExecEnd {
  const status = fieldsOf(parseJson(new TextDecoder().decode(bytes)))
  const message = typeof status['message'] === 'string' ? status['message'] : null
  const causes = causesOf(status)
  const tellingOf = (reason: string): unknown => causes.find((cause) => cause['reason'] === reason)?.['message']
  const more = shortageOf(tellingOf('Reason'), Number(tellingOf('OomKills') ?? 0))
  if (status['status'] === 'Success') return { exitCode: 0, message, ...more }
  if (status['status'] !== 'Failure')
    throw new ConnectionError('The service sent an end of the command that tells neither success nor failure.')
  const code = causes.find(({ reason }) => reason !== 'Reason' && reason !== 'OomKills')?.['message']
  if (code === undefined)
    return { exitCode: null, message: message ?? 'The exit code of the command is unknown.', ...more }
  // A failure by 0 contradicts itself.
  const isCode = typeof code === 'string' && /^\d{1,3}$/.test(code) && Number(code) !== 0
  return { ...endByCode(isCode ? Number(code) : `failure by ${JSON.stringify(code)}`, message), ...more }
}

/** Returns the fields of an end that tell of a shortage of its box; what the service got wrong is left out. */
export function shortageOf(reason: unknown, oomKills: unknown): Pick<ExecEnd, 'reason' | 'oomKills'> {
  const isCount = typeof oomKills === 'number' && Number.isSafeInteger(oomKills) && oomKills > 0
  return { ...(typeof reason === 'string' ? { reason } : {}), ...(isCount ? { oomKills } : {}) }
}

function causesOf(status: Record<string, unknown>): Record<string, unknown>[] {
  const causes = fieldsOf(status['details'])['causes']
  return Array.isArray(causes) ? causes.map(fieldsOf) : []
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
