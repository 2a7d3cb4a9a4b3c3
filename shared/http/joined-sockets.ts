import type { Socket } from 'node:net'
import { notePassing } from './passing-bytes.ts'

/**
 * Pipes bytes and ends both ways, with backpressure; resolves when both sockets have closed. Destroys a socket that does not
 * take the rest of its data within 10 s of the other's close.
 */
export async function joinSockets(one: Socket, other: Socket): Promise<void> {
  for (const socket of [one, other]) {
    socket.on('error', () => undefined)
    socket.setNoDelay(true)
    socket.setTimeout(0)
  }
  one.pipe(other)
  other.pipe(one)
  for (const socket of [one, other]) socket.on('data', (piece: Uint8Array) => notePassing(piece.length))
  await Promise.all([closeWith(one, other), closeWith(other, one)])
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
