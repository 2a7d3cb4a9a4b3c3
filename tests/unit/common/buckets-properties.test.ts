import assert from 'node:assert/strict'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createRateLimit } from '../../../agent/core/access/rate-limit.ts'
import { BUCKETS_MAX, createBuckets } from '../../../shared/buckets.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createLineBudget } from '../../../shared/log-budget.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'
import { anyRate, expectRate, type Rated, ratedSteps } from '../../helpers/fairness/rate.ts'

describe('in any time each key gets the burst and what the rate gives, no more and no less,', () => {
  test('of buckets', async () => {
    const property = fc.property(anyRate, ratedSteps, (rate, steps) => {
      const open = (clock: { now(): number }): Rated => {
        const buckets = createBuckets({ ...rate, clock })
        return {
          ask: (key) => {
            const seconds = buckets.waitOf(key) ?? 0
            buckets.take(key)
            return seconds
          },
        }
      }
      expectRate(open, rate, steps)
    })
    await check(property, 200)
  })

  test('of a rate of requests, whose refusals tell the time to wait', async () => {
    const property = fc.property(anyRate, ratedSteps, (rate, steps) => {
      const open = (clock: { now(): number }): Rated => {
        const limit = createRateLimit({ ...rate, clock })
        return { ask: (key) => secondsOf(() => limit(key)) }
      }
      expectRate(open, rate, steps)
    })
    await check(property)
  })
})

/** Returns the `Retry-After` of a refusal, or 0 without a refusal. */
function secondsOf(act: () => void): number {
  try {
    act()
    return 0
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    expect(error.code).toBe('rate_limited')
    return Number(error.headers['Retry-After'])
  }
}

test('what is taken at once beyond what there is is owed: in the long run each key gets its rate', async () => {
  const steps = fc.array(fc.record({ amount: fc.integer({ min: 1, max: 50 }), afterMs: fc.nat({ max: 3_000 }) }), {
    minLength: 1,
    maxLength: 60,
  })
  const property = fc.property(anyRate, steps, (rate, all) => {
    let [now, taken, last] = [0, 0, 0]
    const buckets = createBuckets({ ...rate, clock: { now: () => now } })
    for (const { amount, afterMs } of all) {
      now += afterMs
      if (buckets.waitOf('a') !== null) continue
      buckets.take('a', amount)
      taken += amount
      last = amount
    }
    expect(taken - last).toBeLessThanOrEqual(rate.burst + (now / 1000) * rate.perSecond)
  })
  await check(property)
})

test('of more keys than are remembered those used last are', () => {
  const buckets = createBuckets({ perSecond: 1, burst: 1, clock: { now: () => 0 } })
  for (let key = 0; key <= BUCKETS_MAX; key++) buckets.take(`${key}`)
  expect([buckets.waitOf('0'), buckets.waitOf('1'), buckets.waitOf(`${BUCKETS_MAX}`)]).toEqual([null, 1, 1])
})

test('each line of a log is written or counted as left out, and those of others are written', async () => {
  const steps = fc.array(fc.record({ key: anyKey, count: fc.constantFrom(1, 400), afterMs: fc.nat({ max: 5_000 }) }), {
    maxLength: 8,
  })
  const property = fc.property(steps, (all) => {
    let now = 0
    const lines = createLineBudget({ now: () => now })
    const written = new Map<string, number>()
    const owed = new Map<string, number>()
    for (const { key, count, afterMs } of all) {
      now += afterMs
      for (let line = 0; line < count; line++) {
        const leftOut = lines.take(key)
        if (leftOut === null) owed.set(key, (owed.get(key) ?? 0) + 1)
        else {
          assert.equal(leftOut, owed.get(key) ?? 0)
          owed.set(key, 0)
          written.set(key, (written.get(key) ?? 0) + 1)
        }
      }
    }
    for (const count of written.values()) expect(count).toBeLessThanOrEqual(500 + now / 1000)
    expect(lines.take('calm')).toBe(0)
  })
  await check(property, 30)
})
