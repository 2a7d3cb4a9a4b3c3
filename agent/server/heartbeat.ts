import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** How often peers are pinged, and after which silence they are dropped; in milliseconds. */
export interface HeartbeatTimes {
  pingMs: number
  silenceMs: number
}

/** Finds out which peers are gone without a word. */
export interface Heartbeat {
  /** Watches a socket, which speaks over `wire`, until it closes. */
  watch(socket: WebSocket, wire: Socket): void
}

/**
 * One timer for all sockets. Every byte of a peer counts as life. So does that it takes what waits for it, since a ping waits
 * behind that; and so does what it cannot say because we do not read it: whether such a one is there is for the pings to find
 * out, which fail when it is not.
 */
export function createHeartbeat({ pingMs, silenceMs }: HeartbeatTimes): Heartbeat {
  const watched = new Map<WebSocket, Peer>()
  const tickMs = pingMs / TICKS_PER_PING
  const silentTicksMax = Math.ceil(silenceMs / tickMs)
  let timer: NodeJS.Timeout | null = null
  let ticks = 0
  const tick = (): void => {
    ticks++
    for (const [socket, peer] of watched) {
      const isAlive = hasMoved(peer) || socket.isPaused
      peer.silentTicks = isAlive ? 0 : peer.silentTicks + 1
      if (peer.silentTicks >= silentTicksMax) socket.terminate()
      else if (ticks % TICKS_PER_PING === 0 && socket.readyState === socket.OPEN) socket.ping()
    }
  }
  return {
    watch: (socket, wire) => {
      watched.set(socket, { wire, heardBytes: wire.bytesRead, takenBytes: 0, silentTicks: 0 })
      timer ??= setInterval(tick, tickMs).unref()
      socket.once('close', () => {
        watched.delete(socket)
        if (watched.size > 0 || timer === null) return
        clearInterval(timer)
        timer = null
      })
    },
  }
}

interface Peer {
  wire: Socket
  heardBytes: number
  /** What the system has taken of what was written. */
  takenBytes: number
  silentTicks: number
}

function hasMoved(peer: Peer): boolean {
  const { bytesRead, bytesWritten, writableLength } = peer.wire
  const hasSaid = bytesRead !== peer.heardBytes
  // Only while the system's own buffer is full: otherwise it takes whatever is written for a peer that is long gone.
  const hasTaken = writableLength > 0 && bytesWritten - writableLength !== peer.takenBytes
  peer.heardBytes = bytesRead
  peer.takenBytes = bytesWritten - writableLength
  return hasSaid || hasTaken
}

const TICKS_PER_PING = 3
