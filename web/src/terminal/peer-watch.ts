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
 * Pings a stream of which nothing has come for some seconds, and at once where the network or the page is back. Packets that are lost for
 * good, as after a sleep or on another network, close no connection of a browser.
 */
export function watchPeer(stream: TerminalStream, { onHeard, onSilent, signal }: PeerWatchOptions): PeerWatch {
  let waitsSince: number | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  const ask = async (): Promise<void> => {
    if (isAsking || waitsSince === null) return
    isAsking = true
    const since = waitsSince
    const isAnswered = await Promise.race([
      stream.ping().then(
        () => true,
        () => false,
      ),
      pauseFor(ANSWER_MS, signal).then(() => false),
    ])
    isAsking = false
    if (signal.aborted) return
    if (isAnswered) onHeard()
    else if (waitsSince === since) return onSilent(new ConnectionError('The connection no longer answers.'))
    schedule()
  }
  const askNow = (): void => void ask()
  const schedule = (): void => {
    clearTimeout(timer)
    if (waitsSince !== null) timer = setTimeout(askNow, IDLE_MS)
  }
  for (const event of BACK) addEventListener(event, askNow)
  return {
    beginWait: () => {
      waitsSince = performance.now()
      if (!isAsking) schedule()
    },
    endWait: () => {
      waitsSince = null
      clearTimeout(timer)
    },
    end: () => {
      waitsSince = null
      clearTimeout(timer)
      for (const event of BACK) removeEventListener(event, askNow)
    },
  }
}

const IDLE_MS = 4_000
const ANSWER_MS = 5_000
const BACK = ['online', 'pageshow', 'visibilitychange', 'focus'] as const
