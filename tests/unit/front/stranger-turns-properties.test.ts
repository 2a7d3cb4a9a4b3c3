import assert from 'node:assert/strict'
import { afterEach, beforeEach, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { createStrangerTurns } from '../../../functions/stranger-turns.ts'
import { FRONT_BOUNDS } from '../../../shared/http/bounds.ts'
import { check } from '../../helpers/fairness/check.ts'

const { refusalsBurst, refusalsPerSecond, refusalsWaiting } = FRONT_BOUNDS

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

/** Sources that each ask many times at once. */
const anySteps = fc.array(
  fc.record({
    source: fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'),
    count: fc.constantFrom(1, 100, 900, 2_000),
    afterMs: fc.constantFrom(0, 10, 1_000, 20_000),
  }),
  { minLength: 1, maxLength: 6 },
)

/** Both IPv6 addresses belong to one source, so they share a key. */
const keyOf = (source: string): string => (source.startsWith('2001') ? '2001:db8::' : source)

test('a source gets its burst of refusals and its rate, or is cut off; others get theirs; and all end when the front closes', async () => {
  const property = fc.asyncProperty(anySteps, async (steps) => {
    const turns = createStrangerTurns({ now: Date.now })
    const answered = new Map<string, number[]>()
    let [asked, ended, waiting] = [0, 0, 0]
    const ask = (source: string): void => {
      asked++
      waiting++
      void turns.wait({ clientAddress: source }, { claims: null }, { status: 401 }).then((answer) => {
        ended++
        waiting--
        if (answer?.headers['Connection'] === 'close') return
        const times = answered.get(keyOf(source)) ?? []
        answered.set(keyOf(source), times)
        times.push(Date.now())
      })
    }
    for (const { source, count, afterMs } of steps) {
      await jest.advanceTimersByTimeAsync(afterMs)
      for (let each = 0; each < count; each++) ask(source)
      await jest.advanceTimersByTimeAsync(0)
      assert.ok(waiting <= refusalsWaiting, `${waiting} wait`)
    }
    for (const times of answered.values())
      for (const [index, since] of times.entries()) {
        const most = refusalsBurst + (((times.at(-1) ?? 0) - since) / 1000) * refusalsPerSecond + 1
        assert.ok(times.length - index <= most, `${times.length - index} of ${most}`)
      }
    const calm = turns.wait({ clientAddress: '198.51.100.1' }, { claims: null }, { status: 401 })
    assert.equal(await calm, null)
    turns.close()
    await jest.advanceTimersByTimeAsync(0)
    assert.equal(ended, asked)
  })
  await check(property, 12)
})
