import type { Clock } from '../../agent/ports/host/clock.ts'
import { lockInstance } from '../instance-lock.ts'
import { describeDuration, hostClock, SAY_MS } from '../made-once/pace.ts'

/** Lines for the user who waits for another process. */
export interface Waiting {
  /** Names the files that the other process creates. */
  what: string
  /** Shows a line. */
  say(text: string): void
  clock?: Clock
}

/**
 * Runs `work` while no other process of this host runs work of the same `subject`. The lock ends with its process, even if that is killed.
 * Until then this waits without a limit, and says so if `waiting` is given.
 */
export async function withLock<T>(subject: string, work: () => Promise<T>, waiting?: Waiting): Promise<T> {
  const { what, say, clock = hostClock } = waiting ?? {}
  const startedAt = clock.now()
  let nextAt = startedAt + FIRST_MS
  for (;;) {
    const lock = await lockInstance(`boxyard-cluster:${subject}`)
    if ('release' in lock) {
      try {
        return await work()
      } finally {
        lock.release()
      }
    }
    if (clock.now() >= nextAt) {
      const holder = lock.heldBy === 0 ? 'another process' : `process ${lock.heldBy}`
      say?.(`Waiting for ${holder}, which builds ${what}: ${describeDuration(clock.now() - startedAt)} so far`)
      nextAt = clock.now() + SAY_MS
    }
    await clock.sleep(POLL_MS)
  }
}

const POLL_MS = 100
/** A shorter wait is not worth a line. */
const FIRST_MS = 1_000
