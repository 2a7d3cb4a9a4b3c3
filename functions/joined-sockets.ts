import type { Socket } from 'node:net'

/**
 * Passes bytes both ways, as fast as either side takes them, and each end on; resolves when both have closed. A side that
 * does not take what is left for it within ten seconds of the other's end is cut off.
 */
export async function joinSockets(one: Socket, other: Socket): Promise<void> {
  for (const socket of [one, other]) {
    socket.on('error', () => undefined)
    socket.setNoDelay(true)
    socket.setTimeout(0)
  }
  one.pipe(other)
  other.pipe(one)
  await Promise.all([passOnClose(one, other), passOnClose(other, one)])
}

function passOnClose(from: Socket, to: Socket): Promise<void> {
  return new Promise((resolve) => {
    const close = (): void => {
      resolve()
      if (to.destroyed) return
      to.destroySoon()
      const timer = setTimeout(() => to.destroy(), LEFT_MS)
      timer.unref()
      to.once('close', () => clearTimeout(timer))
    }
    if (from.closed) close()
    else from.once('close', close)
  })
}

const LEFT_MS = 10_000
