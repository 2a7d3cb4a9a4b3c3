import { ConnectionError } from './api-error.ts'
import type { Query } from './doors.ts'
import type { MessageSocket } from './message-socket.ts'
import { parseJson, toApiError } from './problems.ts'

/** How the service gets a command, either in the query of the WebSocket or in its first message. */
export interface ExecStart {
  query: Query
  message: string | null
}

/**
 * Returns how to send a command and its environment. Uses a message if the query would exceed 8 KiB or have many parts.
 * @throws RangeError for a message that is longer than the service accepts
 */
export function startOf(command: readonly string[], env: Readonly<Record<string, string>>): ExecStart {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const parts = [
    ...command.map((part): [string, string] => ['command', part]),
    ...variables.map((part): [string, string] => ['env', part]),
  ]
  const isShort = parts.length <= QUERY_PARTS_MAX && new URLSearchParams(parts).toString().length <= QUERY_BYTES_MAX
  if (isShort) {
    const query = { command: [...command], ...(variables.length === 0 ? {} : { env: variables }) }
    return { query, message: null }
  }
  const message = JSON.stringify({ command, env })
  const { length } = new TextEncoder().encode(message)
  if (length <= MESSAGE_BYTES_MAX) return { query: { start: 'message' }, message }
  throw new RangeError(
    `Command and environment take ${length} bytes as JSON, and a message can have at most ${MESSAGE_BYTES_MAX}. ` +
      'A command can have 262,144 bytes, and its environment as many. Send more as input or in a file.',
  )
}

/** Sends the message that starts a command, and waits until it has started. @throws ApiError of a refusal, ConnectionError */
export async function sendStart(socket: MessageSocket, message: string): Promise<void> {
  await socket.send(message)
  const answer = await socket.receive()
  if (answer === null) throw new ConnectionError(socket.closed()?.reason || 'The connection was lost.')
  const fields = typeof answer === 'string' ? parseJson(answer) : null
  if (typeof fields === 'object' && fields !== null && 'id' in fields) return
  socket.close()
  const status = typeof fields === 'object' && fields !== null && 'status' in fields ? Number(fields.status) : 0
  throw toApiError(status, fields)
}

const QUERY_BYTES_MAX = 8 * 1024
const QUERY_PARTS_MAX = 512
const MESSAGE_BYTES_MAX = 1024 * 1024
