import { ConnectionError, type TerminalStream } from '@boxyard/sdk'
import { pauseFor } from '../api/patience.ts'

/**
 * Remembers whether a session answers pings, over all connections to it. An agent of an earlier version answers none. After two connections
 * that were closed without any answer, the page stops pinging it.
 */
export class PingRecord {
  #hasAnswered = false
  #silences = 0

  noteAnswer(): void {
    this.#hasAnswered = true
  }

  noteSilence(): void {
    this.#silences++
  }

  get isMute(): boolean {
    return !this.#hasAnswered && this.#silences >= MUTE_SILENCES
  }
}

interface PeerWatchOptions {
  record: PingRecord
  /** Called when it has answered. */
  onHeard(): void
  onSilent(error: ConnectionError): void
  signal: AbortSignal
}

/** Watches whether a session still answers. Callers report when they wait for output, because a busy page is not a dead connection. */
interface PeerWatch {
  beginWait(): void
  endWait(): void
  end(): void
}

/**
 * Pings a stream that has received nothing for some seconds, and at once when the network or the page is back. Permanently lost packets, as
 * after a sleep or on another network, do not close a browser's connection.
 */
export function watchPeer(stream: TerminalStream, { record, onHeard, onSilent, signal }: PeerWatchOptions): PeerWatch {
  let wait: object | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  const ask = async (): Promise<void> => {
    if (isAsking || wait === null || record.isMute) return
    isAsking = true
    const asked = wait
    const isHeard = await Promise.race([
      stream.ping().then(
        () => true,
        () => false,
      ),
      pauseFor(ANSWER_MS, signal).then(() => false),
    ])
    // Output resolves a ping too, and has ended the wait by the next turn.
    if (isHeard) await pauseFor(0, signal)
    isAsking = false
    if (signal.aborted) return
    if (isHeard) onHeard()
    if (isHeard && wait === asked) record.noteAnswer()
    if (!isHeard && wait === asked) {
      record.noteSilence()
      return onSilent(new ConnectionError('The connection no longer answers.'))
    }
    schedule()
  }
  const askNow = (): void => void ask()
  const schedule = (): void => {
    clearTimeout(timer)
    if (wait !== null && !record.isMute) timer = setTimeout(askNow, IDLE_MS)
  }
  for (const event of BACK) addEventListener(event, askNow)
  return {
    beginWait: () => {
      wait = {}
      if (!isAsking) schedule()
    },
    endWait: () => {
      wait = null
      clearTimeout(timer)
    },
    end: () => {
      wait = null
      clearTimeout(timer)
      for (const event of BACK) removeEventListener(event, askNow)
    },
  }
}

const IDLE_MS = 4_000
const ANSWER_MS = 5_000
const MUTE_SILENCES = 2
const BACK = ['online', 'pageshow', 'visibilitychange', 'focus'] as const
