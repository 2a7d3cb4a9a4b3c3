import type { Clock } from '../../ports/host/clock.ts'
import type { ServiceSpec } from '../../ports/store/services.ts'
import type { RunMonitor } from './run-monitor.ts'

/** A run that is to end. */
export interface RunTermination {
  live: RunMonitor
  spec: ServiceSpec
  /** Resolves once nobody uses it any more; null: whoever does is cut off. */
  drain: (() => Promise<void>) | null
  /** It could not be ended. */
  onError(error: unknown): void
}

/** Ends runs: drained, then by their signal, then, after their grace, by force. Each in its own time. */
export interface RunTerminator {
  /** One that is under way goes on. */
  begin(ending: RunTermination): void
  /** It is no longer waited for: killed at once. */
  hurry(live: RunMonitor): void
  /** Leaves those that have not ended to the next process. */
  close(): Promise<void>
}

/** At most one ending of each run. */
export function createRunTerminator({ clock }: { clock: Clock }): RunTerminator {
  const underWay = new Map<RunMonitor, { hurried: AbortController; done: Promise<void> }>()
  let isClosed = false
  const end = async ({ live, spec, drain }: RunTermination, hurried: AbortSignal): Promise<void> => {
    const { stopSignal, graceSeconds } = spec
    if (drain !== null) await Promise.race([drain(), aborted(hurried)])
    if (isClosed || live.ended !== null) return
    await live.held.signal(stopSignal)
    await Promise.race([live.held.ended, clock.sleep(graceSeconds * 1000, hurried)])
    if (isClosed || live.ended !== null) return
    await live.held.signal('SIGKILL')
    await Promise.race([live.held.ended, clock.sleep(KILL_MS)])
    if (live.ended === null) throw new Error('A killed service has not ended.')
  }
  return {
    begin: (ending) => {
      const { live } = ending
      if (isClosed || underWay.has(live)) return
      live.isEnding = true
      const hurried = new AbortController()
      const done = end(ending, hurried.signal)
        .catch((error: unknown) => {
          live.isEnding = false
          ending.onError(error)
        })
        .finally(() => underWay.delete(live))
      underWay.set(live, { hurried, done })
    },
    hurry: (live) => underWay.get(live)?.hurried.abort(),
    close: async () => {
      isClosed = true
      for (const { hurried } of underWay.values()) hurried.abort()
      await Promise.all([...underWay.values()].map(({ done }) => done))
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

const KILL_MS = 10_000
