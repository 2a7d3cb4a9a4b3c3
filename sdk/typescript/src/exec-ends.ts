import { ConnectionError } from './api-error.ts'
import { parseJson } from './problems.ts'

/** How a command ended: with a code (128 + n for a signal), or null where nobody knows, with a message. */
export interface ExecEnd {
  exitCode: number | null
  message: string | null
}

/** Makes the end by what the service calls an exit code. What is none, such as 256, is not known, and never a success. */
export function endByCode(code: unknown, message: string | null): ExecEnd {
  if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return { exitCode: code, message }
  return { exitCode: null, message: `The service gave an exit code that is none: ${String(code).slice(0, 40)}` }
}

/** Reads a Kubernetes `Status`. @throws ConnectionError for what is none */
export function endOfStatus(bytes: Uint8Array): ExecEnd {
  const status = fieldsOf(parseJson(new TextDecoder().decode(bytes)))
  if (status['status'] === 'Success') return { exitCode: 0, message: null }
  if (status['status'] !== 'Failure')
    throw new ConnectionError('The service sent an end of the command that tells neither success nor failure.')
  const message = typeof status['message'] === 'string' ? status['message'] : null
  const causes = fieldsOf(status['details'])['causes']
  const code = fieldsOf(Array.isArray(causes) ? causes[0] : null)['message']
  if (code === undefined) return { exitCode: null, message: message ?? 'It is not known how the command ended.' }
  // A failure by 0 contradicts itself.
  const isCode = typeof code === 'string' && /^\d{1,3}$/.test(code) && Number(code) !== 0
  return endByCode(isCode ? Number(code) : `failure by ${JSON.stringify(code)}`, message)
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
