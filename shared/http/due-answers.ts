import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Notes that an answer is due on the socket of its request until it is closed, which means sent or broken off. If the socket closes first,
 * destroys both. node:http also does this, but no longer once the client has asked for an upgrade or a CONNECT. Returns the number of
 * answers due there.
 */
export function noteDueAnswer(incoming: IncomingMessage, outgoing: ServerResponse): number {
  const { socket } = incoming
  const due = dueOn.get(socket) ?? watch(socket)
  const pair = { incoming, outgoing }
  due.add(pair)
  outgoing.once('close', () => due.delete(pair))
  return due.size
}

/** Returns true if answers are due or under way on a socket, so that no other code may write to it. */
export function hasDueAnswers(socket: Socket): boolean {
  return (dueOn.get(socket)?.size ?? 0) > 0
}

function watch(socket: Socket): Set<DueAnswer> {
  const due = new Set<DueAnswer>()
  dueOn.set(socket, due)
  socket.once('close', () => {
    for (const { incoming, outgoing } of due) {
      // Without an error, the reader of a body that has arrived but is not yet read would wait for its end.
      incoming.destroy(new Error('the client left'))
      outgoing.destroy()
    }
  })
  return due
}

interface DueAnswer {
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/** Due answers by socket. Pipelined requests have several. */
const dueOn = new WeakMap<Socket, Set<DueAnswer>>()
