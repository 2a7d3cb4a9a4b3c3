import { setTimeout as pause } from 'node:timers/promises'

/**
 * Polls `look` until it returns true, every `everyMs` or by default at growing intervals from 5 to 100 ms. Throws after two minutes, which
 * a busy machine can need.
 */
export async function eventually(look: () => boolean | Promise<boolean>, everyMs?: number): Promise<void> {
  const deadline = Date.now() + 120_000
  for (let interval = everyMs ?? FIRST_MS; !(await look()); interval = everyMs ?? longer(interval)) {
    if (Date.now() > deadline) throw new Error(`It never came about: ${look.toString()}`)
    await pause(interval)
  }
}

/** Waits until `read` returns the same value after `quietMs`, and returns it. Throws after a minute. */
export async function untilSteady<T>(read: () => T | Promise<T>, quietMs: number): Promise<T> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const before = await read()
    await pause(quietMs)
    if ((await read()) === before) return before
    if (Date.now() > deadline) throw new Error(`It never came to rest: ${read.toString()}`)
  }
}

/** Returns a check whether to continue a race. It returns true for `ms`, and for up to a minute more until `hasSeen` returns true. */
export function raceFor(ms: number, hasSeen: () => boolean): () => boolean {
  const end = performance.now() + ms
  return () => performance.now() < end || (!hasSeen() && performance.now() < end + 60_000)
}

/** Repeats `work` until it succeeds. Rethrows its last error after `patienceMs`. */
export async function untilSucceeds<T>(work: () => Promise<T>, patienceMs = 120_000): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (let interval = FIRST_MS; ; interval = longer(interval)) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await pause(interval)
    }
  }
}

function longer(intervalMs: number): number {
  return Math.min(2 * intervalMs, LONGEST_MS)
}

const FIRST_MS = 5
const LONGEST_MS = 100
