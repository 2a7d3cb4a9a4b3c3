import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import { createRecentProjects } from '../../../shared/project-turns.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] }))
afterEach(() => void jest.useRealTimers())

/** Opens the turns of an event loop with simulated time. */
function openLoop() {
  const time = { now: 0 }
  const turns = createProcessorTurns({ recent: createRecentProjects(), now: () => time.now })
  const begun: { account: string; index: number; at: number }[] = []
  let asked = 0
  return {
    begun,
    time,
    /** Asks for work that takes `ms`. Returns whether it began at once. */
    ask: (account: string, ms: number): boolean => {
      const index = asked++
      void turns.run(account, async () => {
        begun.push({ account, index, at: time.now })
        time.now += ms
      })
      return begun.at(-1)?.index === index
    },
    pass: async (ms: number): Promise<void> => {
      time.now += ms
      await jest.advanceTimersByTimeAsync(ms)
      for (let turn = 0; turn < 3; turn++) await nextTurn()
    },
  }
}

const anyAsks = fc.array(
  fc.record({ account: anyKey, ms: fc.nat({ max: 200 }), afterMs: fc.constantFrom(0, 0, 1, 50) }),
  {
    maxLength: 25,
  },
)

test('all requests begin, those of each account in order, and one of an account that costs nothing at once', async () => {
  const property = fc.asyncProperty(anyAsks, async (asks) => {
    const { ask, begun, pass } = openLoop()
    for (const { account, ms, afterMs } of asks) {
      ask(account, ms)
      await pass(afterMs)
      assert.ok(ask('calm', 0), 'the calm one waits')
      await nextTurn()
    }
    // An account owes at most five seconds.
    for (let waited = 0; begun.length < 2 * asks.length && waited < 5_500 * asks.length; waited += 250) await pass(250)
    assert.equal(begun.length, 2 * asks.length)
    for (const account of new Set(asks.map((each) => each.account))) {
      const own = begun.filter((each) => each.account === account).map(({ index }) => index)
      assert.deepEqual(
        own,
        own.toSorted((a, b) => a - b),
      )
    }
  })
  await check(property, 25)
})

test('an account that always asks for more has a quarter of the time while another is there', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 5, max: 150 }),
    fc.integer({ min: 1, max: 40 }),
    async (ms, together) => {
      const { ask, begun, time, pass } = openLoop()
      ask('calm', 0)
      const begunLoud = (): number => begun.filter(({ account }) => account === 'loud').length
      for (let asked = 0; time.now < 5_000; ) {
        for (; asked - begunLoud() < together; asked++) ask('loud', ms)
        ask('calm', 0)
        await pass(20)
      }
      const used = begunLoud() * ms
      // The allowed debt, and the last piece of work.
      assert.ok(used <= time.now / 4 + 20 + 2 * ms, `${used} of ${time.now} ms`)
    },
  )
  await check(property, 10)
})
