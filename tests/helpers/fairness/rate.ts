import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** Something with a rate per key, in the form that property tests use. */
export interface Rated {
  /** Makes one request. Returns 0 if it passes, or the seconds until a retry, if known. */
  ask(key: string): number
}

/** A rate per second with a burst. */
export interface Rate {
  perSecond: number
  burst: number
}

/** A request of a key, some time after the previous one. */
export interface RatedStep {
  key: string
  afterMs: number
}

/** Draws requests. Many arrive at the same time. */
export const ratedSteps: fc.Arbitrary<RatedStep[]> = fc.array(
  fc.record({ key: anyKey, afterMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 2_000 })) }),
  { maxLength: 100 },
)

/** Draws rates, including rates below one a second. */
export const anyRate: fc.Arbitrary<Rate> = fc.record({
  perSecond: fc.constantFrom(0.1, 0.5, 1, 3, 10, 100),
  burst: fc.integer({ min: 1, max: 20 }),
})

/**
 * Makes requests and checks the rate:
 * - In any period, a key gets at most the burst plus what the rate allows in that period.
 * - A key is refused only if it has used that up.
 * - Other keys take nothing from it.
 * - A request after the reported wait passes.
 */
export function expectRate(open: (clock: { now(): number }) => Rated, rate: Rate, steps: readonly RatedStep[]): void {
  let now = 0
  const rated = open({ now: () => now })
  const passed = new Map<string, number[]>()
  /** Returns how much the rate leaves a key after its earlier requests. This is the minimum over all periods until now. */
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
    // An early request costs nothing.
    now += waitSeconds * 500
    const isEarly = rated.ask(key) === 0
    now += waitSeconds * 500
    if (!isEarly) assert.equal(rated.ask(key), 0, `${key} is refused after the time that was told`)
  }
}

/** Rounding error of floating point sums. */
const ROUNDING = 1e-6
