import { ConnectionError, type TerminalStream } from '@boxyard/sdk'
import { pauseFor } from '../api/patience.ts'

interface PeerWatchOptions {
  /** Called when it has answered. */
  onHeard(): void
  onSilent(error: ConnectionError): void
  signal: AbortSignal
}

/** Watches whether a session still answers. Waits for output are told to it: a page that is busy is no dead connection. */
interface PeerWatch {
  beginWait(): void
  endWait(): void
  end(): void
}

/**
 * Pings a stream of which nothing has come for some seconds, and at once where it is new or the network or the page is back. Packets that are
 * lost for good, as after a sleep or on another network, close no connection of a browser. Agents of earlier versions answer no ping: only
 * the silence of one that has answered counts, and one that has not is not asked again.
 */
export function watchPeer(stream: TerminalStream, { onHeard, onSilent, signal }: PeerWatchOptions): PeerWatch {
  let wait: object | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  let answers: 'unknown' | 'always' | 'never' = 'unknown'
  const ask = async (): Promise<void> => {
    if (isAsking || wait === null || answers === 'never') return
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
    if (wait === asked) {
      if (!isHeard && answers === 'always') return onSilent(new ConnectionError('The connection no longer answers.'))
      answers = isHeard ? 'always' : 'never'
    }
    schedule()
  }
  const askNow = (): void => void ask()
  const schedule = (): void => {
    clearTimeout(timer)
    if (wait === null || answers === 'never') return
    timer = setTimeout(askNow, answers === 'unknown' ? UNKNOWN_MS : IDLE_MS)
  }
  let isNew = true
  for (const event of BACK) addEventListener(event, askNow)
  return {
    beginWait: () => {
      wait = {}
      if (isNew) askNow()
      else if (!isAsking) schedule()
      isNew = false
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
/** Sooner, until it is known whether it answers: a connection that dies before is not noticed. */
const UNKNOWN_MS = 250
const ANSWER_MS = 5_000
const BACK = ['online', 'pageshow', 'visibilitychange', 'focus'] as const
