import type { WebSocket } from 'ws'
import { createBuckets } from '../../shared/buckets.ts'
import { type OpenFlow, openFree } from '../../shared/flow-turns.ts'

/** The rate of WebSocket messages of an account. Beyond the burst, its sockets are read by turns. */
export interface MessageRate {
  perSecond: number
  burst: number
}

/** Reads the messages of one WebSocket. Its reader may hold them back. */
export interface Intake {
  /** Reads nothing of the socket until `resume`. */
  pause(): void
  /** Resumes reading, as soon as the pace allows. */
  resume(): void
  /** Resumes reading for good, such as to see the client's close. */
  end(): void
}

/** Limits the rate of WebSocket messages, so that one account takes a part of the CPU, however small its messages are. */
export interface MessagePaces {
  /**
   * Watches a socket of `account` until it closes. Call it before anything is read from the socket. Its bytes take the turns that
   * `openFlow` gives. Default: none.
   */
  watch(socket: WebSocket, account: string, openFlow?: OpenFlow): Intake
}

/**
 * Creates the paces of one server. Each message, ping and pong counts. A socket beyond the rate pauses until its share of the rate has
 * paid for its excess. The account's paused sockets share the rate, so that one keystroke waits only a moment behind sockets that flood.
 * Messages read before the pause, at most 64 KiB, pass and count.
 */
export function createMessagePaces(
  { perSecond, burst }: MessageRate,
  clock: { now(): number } = performance,
): MessagePaces {
  const { slowed, change, hasRoom } = createAccounts({ perSecond, burst }, clock)
  const leftMs = (account: string, { excess, since }: Pause): number =>
    since + (excess * (slowed.get(account) ?? 1) * 1000) / perSecond - clock.now()
  return {
    watch: (socket, account, openFlow = openFree) => {
      let pause: Pause | null = null
      // Held by its reader, or until its turn.
      const holds = new Set<'reader' | 'turn'>()
      const hold = (why: 'reader' | 'turn'): void => {
        holds.add(why)
        socket.pause()
      }
      const release = (why: 'reader' | 'turn'): void => {
        holds.delete(why)
        if (pause === null && holds.size === 0) socket.resume()
      }
      const flow = openFlow({ hold: () => hold('turn'), release: () => release('turn') })
      const countBytes = (data: { length: number }): void => flow.count(data.length)
      const leave = (): void => {
        if (pause === null) return
        clearTimeout(pause.timer)
        pause = null
        change(account, -1)
      }
      const look = (): void => {
        if (pause === null) return
        const ms = leftMs(account, pause)
        if (ms > 0) {
          pause.timer = setTimeout(look, Math.min(Math.max(ms, LOOK_MIN_MS), LOOK_MAX_MS)).unref()
          return
        }
        leave()
        if (holds.size === 0) socket.resume()
      }
      const count = (): void => {
        if (pause !== null) pause.excess++
        else if (!hasRoom(account)) {
          change(account, 1)
          socket.pause()
          pause = { excess: 1, since: clock.now(), timer: setTimeout(look, LOOK_MIN_MS).unref() }
        }
      }
      socket.on('message', count).on('ping', count).on('pong', count).once('close', leave)
      socket.on('message', countBytes).once('close', flow.close)
      return {
        pause: () => hold('reader'),
        resume: () => release('reader'),
        end: () => {
          socket.off('message', countBytes)
          flow.close()
          holds.clear()
          for (const event of ['message', 'ping', 'pong']) socket.off(event, count)
          leave()
          socket.resume()
        },
      }
    },
  }
}

/** The rates of accounts, and how many sockets of each are paused. */
function createAccounts({ perSecond, burst }: MessageRate, clock: { now(): number }) {
  const buckets = createBuckets({ perSecond, burst, clock })
  const slowed = new Map<string, number>()
  // While sockets are paused, the rate pays for their excess, and fills no bucket.
  const settle = (account: string): void => {
    if (slowed.has(account)) buckets.skip(account)
  }
  return {
    slowed: slowed as ReadonlyMap<string, number>,
    change: (account: string, by: 1 | -1): void => {
      settle(account)
      const count = (slowed.get(account) ?? 0) + by
      if (count > 0) slowed.set(account, count)
      else slowed.delete(account)
    },
    hasRoom: (account: string): boolean => {
      settle(account)
      const isFree = buckets.waitOf(account) === null
      buckets.take(account)
      return isFree
    },
  }
}

interface Pause {
  /** Messages beyond the rate. */
  excess: number
  since: number
  timer: NodeJS.Timeout
}

/** The rate of the service. Messages of 64 KiB at this rate exceed its throughput. Messages of one byte take a sixth of a CPU. */
export const MESSAGE_RATE: MessageRate = { perSecond: 16_384, burst: 16_384 }

const LOOK_MIN_MS = 10
const LOOK_MAX_MS = 1_000
