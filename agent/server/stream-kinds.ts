import { chooseProtocol, type FrameProtocol } from '../../shared/http/exec-frames.ts'
import { readJson } from '../../shared/http/messages.ts'
import { choosePortProtocol } from '../../shared/http/port-frames.ts'
import { newId } from '../../shared/ids.ts'
import type { Operation } from '../../shared/operation.ts'
import { type ExecStreamQuery, execStartSchema } from '../../shared/schemas/exec-streams.ts'
import { parseWith } from '../../shared/validate.ts'
import type { CommandStream } from '../core/exec/command-stream.ts'
import type { StreamHandlers } from '../handlers/common/call.ts'
import type { PortConnection } from '../ports/boxes/port-connection.ts'
import type { ClientEnd, StreamBridge } from './bridge.ts'
import { bridgePort } from './port-bridge.ts'
import { bridgeStart, bridgeStream } from './stream-bridge.ts'

/** The peer to join a WebSocket client to. */
export interface OpenedStream {
  /** Subprotocol. Null if the client offered none. */
  protocol: string | null
  /** Headers of the 101 answer. */
  headers: Record<string, string>
  /** `exe_…` or `ses_…`. Null for a port. */
  id: string | null
  /** True: its command comes in the first message. */
  startsLater: boolean
  join(client: ClientEnd): StreamBridge
  /** Releases it if the client has left before it could be joined. */
  abandon(): void
}

/** How to open the WebSockets of an operation, and which limit counts them. */
export interface StreamKind {
  pool: 'streams' | 'ports'
  /**
   * Chooses the subprotocol, and returns a function that opens the stream by a call of the operation's handler.
   * @throws ServiceError `invalid_request` if the client offers no supported subprotocol
   */
  choose(offered: string | undefined): (call: unknown, request: StreamRequest) => Promise<OpenedStream>
}

/** The request that opens a stream, for a command that starts at once or after the handshake. */
export interface StreamRequest {
  /** Runs the handler as the caller of the request, and uses up its ticket. */
  enter<T>(work: () => Promise<T>): Promise<T>
  /** The same after the handshake, in a turn of its account. @throws ServiceError `draining` */
  enterLater<T>(work: () => Promise<T>): Promise<T>
  /** Records the command that it will run, or has started. */
  runs(command: readonly string[]): void
  /** Writes the audit line of a command that has started after the handshake. */
  started(): void
  /** Logs a refusal after the handshake, and returns its problem as JSON. */
  explain(error: unknown): string
  /** Milliseconds since the epoch. */
  now(): number
}

/** Returns the kind of a WebSocket operation. */
export function streamKindOf({ id }: Pick<Operation, 'id'>, handlers: StreamHandlers): StreamKind {
  const handler = handlers[id as keyof StreamHandlers] as (call: unknown) => Promise<unknown>
  if (id === 'openPort') {
    return {
      pool: 'ports',
      choose: (offered) => {
        const protocol = choosePortProtocol(offered)
        return async (call, { enter }) => openedPort((await enter(() => handler(call))) as PortConnection, protocol)
      },
    }
  }
  return {
    pool: 'streams',
    choose: (offered) => {
      const protocol = chooseProtocol(offered)
      const begin = async (given: unknown): Promise<CommandStream> => (await handler(given)) as CommandStream
      return async (call, request) =>
        isLate(id, call)
          ? startedLater(call, { protocol, begin, request })
          : openedCommand(await request.enter(() => begin(call)), protocol, request)
    },
  }
}

/** A call of `streamExec`, as far as a start by message changes it. */
interface ExecCall {
  query: ExecStreamQuery
  execId: string | null
}

function isLate(id: string, call: unknown): call is ExecCall {
  return id === 'streamExec' && (call as ExecCall).query.start === 'message'
}

/** Opens a stream whose command comes in the first message. */
function startedLater(
  call: ExecCall,
  parts: { protocol: FrameProtocol; begin(call: unknown): Promise<CommandStream>; request: StreamRequest },
): OpenedStream {
  const { protocol, begin, request } = parts
  const id = call.execId ?? newId('exe', request.now())
  const start = (message: Buffer): Promise<CommandStream> =>
    request.enterLater(async () => {
      const { command, env } = parseWith(execStartSchema, readJson(message, 'application/json'))
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      request.runs(command)
      const stream = await begin({ ...call, execId: id, query: { ...call.query, command, env: variables } })
      request.started()
      return stream
    })
  const late = { protocol, id, outlivesClient: call.query.no_hup, start, explain: request.explain }
  return {
    protocol,
    headers: { 'X-Exec-Id': id },
    id,
    startsLater: true,
    join: (client) => bridgeStart(client, late),
    abandon: () => undefined,
  }
}

function openedPort(connection: PortConnection, protocol: string | null): OpenedStream {
  return {
    protocol,
    headers: {},
    id: null,
    startsLater: false,
    join: (client) => bridgePort(client, connection),
    abandon: () => connection.reset(),
  }
}

function openedCommand(stream: CommandStream, protocol: FrameProtocol, request: StreamRequest): OpenedStream {
  if (stream.command !== undefined) request.runs(stream.command)
  return {
    protocol,
    headers: { [stream.id.startsWith('ses_') ? 'X-Session-Id' : 'X-Exec-Id']: stream.id },
    id: stream.id,
    startsLater: false,
    join: (client) => bridgeStream(client, { stream, protocol }),
    abandon: () => stream.disconnect(),
  }
}
