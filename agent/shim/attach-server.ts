import type { Socket } from 'node:net'
import { ServiceError } from '../../shared/errors.ts'
import { SHIM_LIMITS, type ShimMessage, type ShimRequest } from '../drivers/exec/shim-protocol.ts'
import { writeJsonLine } from '../lib/output/json-lines.ts'
import type { ShimState } from './state.ts'

/** The connections of viewers, to all that is held. */
export interface AttachServer {
  /**
   * Attaches the one who asked for it, over the connection of which `rest` was read already; whoever is refused is told why,
   * and the connection ends.
   */
  accept(request: Extract<ShimRequest, { type: 'attach' }>, socket: Socket, rest: Buffer): Promise<void>
}

export function createAttachServer(holding: ShimState): AttachServer {
  const sockets = new Set<Socket>()
  return {
    accept: async ({ id, execId, typing }, socket, rest) => {
      const welcome = (terminal: boolean): void =>
        writeJsonLine(socket, { type: 'attached', id, terminal } satisfies ShimMessage)
      try {
        if (sockets.size >= SHIM_LIMITS.viewers) throw tooMany()
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        const isHeld = await holding.attach(execId, { socket, rest, typing, welcome })
        if (!isHeld) throw new ServiceError('exec_not_found', 'It is not held, or not any more.')
      } catch (error) {
        writeJsonLine(socket, failureMessage(id, error))
        socket.end()
      }
    },
  }
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limited', 'Too many are attached to commands and sessions already.')
}

/** What an agent is told of a request that failed. */
export function failureMessage(id: number, error: unknown): ShimMessage {
  if (error instanceof ServiceError) return { type: 'failed', id, code: error.code, detail: error.message }
  return { type: 'failed', id, code: null, detail: error instanceof Error ? error.message : String(error) }
}
