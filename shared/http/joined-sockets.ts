import type { Socket } from 'node:net'
import { type OpenFlow, openFree } from '../flow-turns.ts'
import { createValve } from '../valve.ts'
import { notePassing } from './passing-bytes.ts'

/**
 * Pipes bytes and ends both ways, with backpressure, in the turns of `openFlow`. Resolves when both sockets have closed. Destroys a socket
 * that does not accept the rest of its data within 10 s of the other's close. An idle connection to a host that lost its power or its
 * network breaks after 40 s (TCP keep-alive). One with unacknowledged data breaks when the kernel gives up (`tcp_retries2`, about 15 min).
 */
export async function joinSockets(one: Socket, other: Socket, openFlow: OpenFlow = openFree): Promise<void> {
  for (const socket of [one, other]) {
    socket.on('error', () => undefined)
    socket.setNoDelay(true)
    socket.setTimeout(0)
    socket.setKeepAlive(true, IDLE_MS)
  }
  pass(one, other, openFlow)
  pass(other, one, openFlow)
  await Promise.all([closeWith(one, other), closeWith(other, one)])
}

/** Forwards bytes and the end one way. It is not a pipe, which would resume a stream that waits for its turn. */
function pass(from: Socket, to: Socket, openFlow: OpenFlow): void {
  const valve = createValve(from)
  const flow = openFlow(valve)
  from.on('data', (piece: Uint8Array) => {
    notePassing(piece.length)
    if (to.writable && !to.write(piece)) valve.hold('reader')
    flow.count(piece.length)
  })
  from.once('end', () => to.end())
  from.once('close', flow.close)
  to.on('drain', () => valve.release('reader'))
  // Reads and drops whatever arrives for a socket that accepts no more.
  to.once('close', () => valve.release('reader'))
}

function closeWith(from: Socket, to: Socket): Promise<void> {
  return new Promise((resolve) => {
    const close = (): void => {
      resolve()
      if (to.destroyed) return
      to.destroySoon()
      const timer = setTimeout(() => to.destroy(), FLUSH_MS)
      timer.unref()
      to.once('close', () => clearTimeout(timer))
    }
    if (from.closed) close()
    else from.once('close', close)
  })
}

const FLUSH_MS = 10_000
/** Time without a byte before the first probe. Node sends ten, a second apart. */
const IDLE_MS = 30_000
