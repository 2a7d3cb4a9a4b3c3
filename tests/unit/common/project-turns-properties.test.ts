import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { createBodyTurns } from '../../../functions/body-turns.ts'
import { createProjectTurns, createRecentProjects } from '../../../shared/project-turns.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'
import { expectFairQueue, queueSteps } from '../../helpers/fairness/queue.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const pass = async (ms: number): Promise<void> => void (await jest.advanceTimersByTimeAsync(ms))

test('turns of projects keep the rules of queues, and each project that was there lately has a part free', async () => {
  // Fewer steps than the milliseconds after which a turn ends.
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 6 }), queueSteps(30), async (atOnce, steps) => {
    const turns = createProjectTurns({ atOnce, pause: 0, recent: createRecentProjects() })
    const enter = (key: string): Promise<() => void> =>
      new Promise((begin) => void turns.run(key, () => new Promise<void>((resolve) => begin(resolve))))
    const mayBegin = (own: number, all: number, keys: number): boolean =>
      all < atOnce && own < Math.max(1, Math.floor(atOnce / keys))
    await expectFairQueue({ enter, settle: () => pass(1) }, { mayBegin }, steps)
  })
  await check(property, 60)
})

/** Work of a project, with the delay before its request and its duration, which can be infinite. */
const anyWork = fc.record({
  key: anyKey,
  afterMs: fc.nat({ max: 30 }),
  tookMs: fc.oneof(fc.nat({ max: 40 }), fc.integer({ min: 60, max: 120 }), fc.constant(Number.POSITIVE_INFINITY)),
})

describe('whatever work is asked for, and however long it takes,', () => {
  test('all of it begins, none while too much of it runs that began within 50 ms', async () => {
    const options = fc.record({ atOnce: fc.integer({ min: 1, max: 4 }), pause: fc.nat({ max: 3 }) })
    const property = fc.asyncProperty(
      options,
      fc.array(anyWork, { maxLength: 15 }),
      async ({ atOnce, pause }, works) => {
        const turns = createProjectTurns({ atOnce, pause, recent: createRecentProjects() })
        let [running, most, begun] = [0, 0, 0]
        for (const { key, afterMs, tookMs } of works) {
          await pass(afterMs)
          void turns.run(key, async () => {
            begun++
            most = Math.max(most, ++running)
            await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, 49)))
            running--
            if (tookMs > 49) await new Promise((resolve) => tookMs < 200 && setTimeout(resolve, tookMs - 49))
          })
        }
        // Enough time for every turn and its pause, one after the other.
        await pass(works.length * 50 * (1 + pause) + 1)
        expect([begun, most <= atOnce]).toEqual([works.length, true])
      },
    )
    await check(property, 60)
  })

  test('a project that asks for one at a time waits for one turn of each other at most', async () => {
    const loud = fc.array(fc.record({ key: fc.constantFrom('b', 'c', 'd'), tookMs: fc.nat({ max: 80 }) }), {
      minLength: 1,
      maxLength: 30,
    })
    const property = fc.asyncProperty(loud, async (works) => {
      const turns = createProjectTurns({ atOnce: 1, recent: createRecentProjects() })
      const wait = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))
      for (const { key, tookMs } of works) void turns.run(key, () => wait(tookMs))
      for (let asked = 0; asked < 5; asked++) {
        let isBegun = false
        void turns.run('a', async () => void (isBegun = true))
        // The current turn, and one turn of each other project.
        await pass(50 * (1 + 3))
        expect(isBegun).toBe(true)
      }
    })
    await check(property, 30)
  })
})

test('long bodies are parsed in the order of each owner, while one owner waits for one of each other at most', async () => {
  const property = fc.asyncProperty(fc.array(anyKey, { maxLength: 20 }), async (owners) => {
    const turns = createBodyTurns()
    const parsed: string[] = []
    for (const [index, owner] of owners.entries())
      void turns.run(owner, 1e6, () => void parsed.push(`${owner} ${index}`))
    const short = turns.run('calm', 100, () => 'at once')
    expect(parsed).toEqual([])
    await expect(short).resolves.toBe('at once')
    for (let round = 0; round < 4 * owners.length + 2; round++) {
      await nextTurn()
      await pass(1)
    }
    expect(parsed).toHaveLength(owners.length)
    for (const owner of new Set(owners)) {
      const own = parsed.filter((name) => name.startsWith(owner))
      expect(own).toEqual(own.toSorted((a, b) => Number(a.split(' ')[1]) - Number(b.split(' ')[1])))
      // Each owner's first body waits for at most one body of each other owner.
      expect(parsed.indexOf(own[0] ?? '')).toBeLessThan(new Set(owners).size + 1)
    }
  })
  await check(property, 30)
})
