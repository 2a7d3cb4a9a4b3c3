import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** Something with a rate for each key, as the properties of all such things use it. */
export interface Rated {
  /** Asks for one; returns 0 if it was let through, else in how many seconds it may come again, if that is told. */
  ask(key: string): number
}

/** A rate in each second, beyond a burst. */
export interface Rate {
  perSecond: number
  burst: number
}

/** One request of a key, some time after the one before it. */
export interface RatedStep {
  key: string
  afterMs: number
}

/** Draws requests, many of which come at once. */
export const ratedSteps: fc.Arbitrary<RatedStep[]> = fc.array(
  fc.record({ key: anyKey, afterMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 2_000 })) }),
  { maxLength: 100 },
)

/** Draws rates, also below one a second. */
export const anyRate: fc.Arbitrary<Rate> = fc.record({
  perSecond: fc.constantFrom(0.1, 0.5, 1, 3, 10, 100),
  burst: fc.integer({ min: 1, max: 20 }),
})

/**
 * Has keys ask, and expects that in any time each gets no more than the burst and what the rate gives in that time, and is refused only
 * where it has had that; that others take nothing from it; and that whoever comes again after the time that was told is let through.
 */
export function expectRate(open: (clock: { now(): number }) => Rated, rate: Rate, steps: readonly RatedStep[]): void {
  let now = 0
  const rated = open({ now: () => now })
  const passed = new Map<string, number[]>()
  /** What a key may still have by the rate, of all that it has had; the least over all times until now. */
  const leftOf = (times: readonly number[]): number =>
    times.reduce(
      (least, since, index) =>
        Math.min(least, rate.burst + ((now - since) / 1000) * rate.perSecond - (times.length - index)),
      rate.burst,
    )
  for (const { key, afterMs } of steps) {
    now += afterMs
    const times = passed.get(key) ?? []
    passed.set(key, times)
    const left = leftOf(times)
    const waitSeconds = rated.ask(key)
    if (waitSeconds === 0) times.push(now)
    if (Math.abs(left - 1) < ROUNDING) continue
    assert.equal(waitSeconds === 0, left >= 1, `at ${now} ms ${key} has ${left} left`)
  }
  for (const key of passed.keys()) {
    let waitSeconds = rated.ask(key)
    for (let asked = 0; waitSeconds === 0 && asked <= rate.burst; asked++) waitSeconds = rated.ask(key)
    assert.ok(waitSeconds > 0, `${key} is never refused`)
    // Nothing is lost by asking too early.
    now += waitSeconds * 500
    const isEarly = rated.ask(key) === 0
    now += waitSeconds * 500
    if (!isEarly) assert.equal(rated.ask(key), 0, `${key} is refused after the time that was told`)
  }
}

/** Fractions are added as floating point numbers. */
const ROUNDING = 1e-6
