import { ConnectionError } from './api-error.ts'
import { parseJson } from './problems.ts'

/** How a command ended: with an exit code (128 + n for a signal), or with null if the code is unknown, and a message. */
export interface ExecEnd {
  exitCode: number | null
  message: string | null
  /**
   * Why the service could not start the command, such as `process_limit_reached`. Absent if it started, or if its output shows the reason.
   */
  reason?: string
  /** Number of processes killed while the command ran because the box was out of memory. Absent if none. */
  oomKills?: number
}

/** Creates the end from the exit code in an answer. Treats an invalid code, such as 256, as unknown, and never as success. */
export function endByCode(code: unknown, message: string | null): ExecEnd {
  if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return { exitCode: code, message }
  return { exitCode: null, message: `The service sent an invalid exit code: ${String(code).slice(0, 40)}` }
}

/** Reads a Kubernetes `Status`. @throws ConnectionError if it is invalid */
export function endOfStatus(bytes: Uint8Array): ExecEnd {
  const status = fieldsOf(parseJson(new TextDecoder().decode(bytes)))
  const message = typeof status['message'] === 'string' ? status['message'] : null
  const causes = causesOf(status)
  const tellingOf = (reason: string): unknown => causes.find((cause) => cause['reason'] === reason)?.['message']
  const more = shortageOf(tellingOf('Reason'), Number(tellingOf('OomKills') ?? 0))
  if (status['status'] === 'Success') return { exitCode: 0, message, ...more }
  if (status['status'] !== 'Failure')
    throw new ConnectionError('The service sent an end of the command with neither success nor failure.')
  const code = causes.find(({ reason }) => reason !== 'Reason' && reason !== 'OomKills')?.['message']
  if (code === undefined)
    return { exitCode: null, message: message ?? 'The exit code of the command is unknown.', ...more }
  // A failure with code 0 contradicts itself.
  const isCode = typeof code === 'string' && /^\d{1,3}$/.test(code) && Number(code) !== 0
  return { ...endByCode(isCode ? Number(code) : `failure by ${JSON.stringify(code)}`, message), ...more }
}

/** Returns the fields of an end that report a resource shortage of the box. Omits values that are invalid. */
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
