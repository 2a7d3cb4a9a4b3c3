import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { repeat } from '../../shared/repeat.ts'

/** The interval of pings, and the timeout after which a peer is dropped. In milliseconds. */
export interface HeartbeatTimes {
  pingMs: number
  silenceMs: number
}

/** Finds peers that are gone without closing their connection. */
export interface Heartbeat {
  /** Watches a WebSocket over the connection `wire` until it closes. */
  watch(socket: WebSocket, wire: Socket): void
}

/**
 * Uses one timer for all sockets. A peer is alive if it sends any byte, or if it takes queued output, since a ping waits behind that. A
 * paused socket counts as alive, since nothing is read from its peer. There, a failing ping closes the connection.
 */
export function createHeartbeat({ pingMs, silenceMs }: HeartbeatTimes): Heartbeat {
  const watched = new Map<WebSocket, Peer>()
  const tickMs = pingMs / TICKS_PER_PING
  const silentTicksMax = Math.ceil(silenceMs / tickMs)
  let stop: (() => void) | null = null
  let ticks = 0
  const tick = (): void => {
    ticks++
    for (const [socket, peer] of watched) {
      const isAlive = hasProgressed(peer) || socket.isPaused
      peer.silentTicks = isAlive ? 0 : peer.silentTicks + 1
      if (peer.silentTicks >= silentTicksMax) socket.terminate()
      else if (ticks % TICKS_PER_PING === 0 && socket.readyState === socket.OPEN) socket.ping()
    }
  }
  return {
    watch: (socket, wire) => {
      watched.set(socket, { wire, receivedBytes: wire.bytesRead, takenBytes: 0, silentTicks: 0 })
      // The timeout finds a socket that cannot be pinged.
      stop ??= repeat(tick, { everyMs: tickMs, onError: () => undefined })
      socket.once('close', () => {
        watched.delete(socket)
        if (watched.size > 0) return
        stop?.()
        stop = null
      })
    },
  }
}

interface Peer {
  wire: Socket
  receivedBytes: number
  /** Bytes of queued output that the kernel has taken. */
  takenBytes: number
  silentTicks: number
}

function hasProgressed(peer: Peer): boolean {
  const { bytesRead, bytesWritten, writableLength } = peer.wire
  const hasSent = bytesRead !== peer.receivedBytes
  // Counts only while output is queued here. The kernel's buffer takes output for a dead peer until it is full.
  const hasTaken = writableLength > 0 && bytesWritten - writableLength !== peer.takenBytes
  peer.receivedBytes = bytesRead
  peer.takenBytes = bytesWritten - writableLength
  return hasSent || hasTaken
}

const TICKS_PER_PING = 3
