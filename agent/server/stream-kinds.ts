import { chooseProtocol, type FrameProtocol } from '../../shared/http/exec-frames.ts'
import { choosePortProtocol } from '../../shared/http/port-frames.ts'
import type { Operation } from '../../shared/operation.ts'
import type { CommandStream } from '../core/exec/command-stream.ts'
import type { StreamHandlers } from '../handlers/common/call.ts'
import type { PortConnection } from '../ports/boxes/port-connection.ts'
import type { ClientEnd, StreamBridge } from './bridge.ts'
import { bridgePort } from './port-bridge.ts'
import { bridgeStream } from './stream-bridge.ts'

/** What a client of a WebSocket is to be joined to. */
export interface OpenedStream {
  /** Subprotocol; null if the client offered none. */
  protocol: string | null
  /** Headers of the 101 answer. */
  headers: Record<string, string>
  /** `exe_…` or `ses_…`; null for a port. */
  id: string | null
  join(client: ClientEnd): StreamBridge
  /** Lets go of it if the client has left before it could be joined. */
  abandon(): void
}

/** How the WebSockets of an operation are opened, and whose bound they count against. */
export interface StreamKind {
  pool: 'streams' | 'ports'
  /**
   * Chooses the subprotocol, and returns what opens the stream by a call of the operation's handler.
   * @throws ServiceError `invalid_request` if the client offers no supported subprotocol
   */
  choose(offered: string | undefined): (call: unknown) => Promise<OpenedStream>
}

/** Returns the kind of a WebSocket operation. */
export function streamKindOf({ id }: Pick<Operation, 'id'>, handlers: StreamHandlers): StreamKind {
  const handler = handlers[id as keyof StreamHandlers] as (call: unknown) => Promise<unknown>
  if (id === 'openPort') {
    return {
      pool: 'ports',
      choose: (offered) => {
        const protocol = choosePortProtocol(offered)
        return async (call) => openedPort((await handler(call)) as PortConnection, protocol)
      },
    }
  }
  return {
    pool: 'streams',
    choose: (offered) => {
      const protocol = chooseProtocol(offered)
      return async (call) => openedCommand((await handler(call)) as CommandStream, protocol)
    },
  }
}

function openedPort(connection: PortConnection, protocol: string | null): OpenedStream {
  return {
    protocol,
    headers: {},
    id: null,
    join: (client) => bridgePort(client, connection),
    abandon: () => connection.reset(),
  }
}

function openedCommand(stream: CommandStream, protocol: FrameProtocol): OpenedStream {
  return {
    protocol,
    headers: { [stream.id.startsWith('ses_') ? 'X-Session-Id' : 'X-Exec-Id']: stream.id },
    id: stream.id,
    join: (client) => bridgeStream(client, { stream, protocol }),
    abandon: () => stream.disconnect(),
  }
}
