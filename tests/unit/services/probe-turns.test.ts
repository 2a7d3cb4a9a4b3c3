import { describe, expect, test } from '@jest/globals'
import { createProbeTurns } from '../../../agent/core/services/probe-turns.ts'

/** A clock on which a sleep takes no time, but is over only when the test says so. */
function imaginedClock() {
  let now = 0
  const sleepers: (() => void)[] = []
  return {
    slept: [] as number[],
    now: () => now,
    sleep: (ms: number) =>
      new Promise<void>((resolve) =>
        sleepers.push(() => {
          now += ms
          resolve()
        }),
      ),
    pass: async () => {
      sleepers.shift()?.()
      await new Promise(setImmediate)
      return now
    },
  }
}

const never = new AbortController().signal

describe('turns of probes', () => {
  test('are at once while there are some, and then as many a second as there may be', async () => {
    const clock = imaginedClock()
    const turns = createProbeTurns({ clock, perSecond: 10 })
    let begun = 0
    for (let n = 0; n < 15; n++) void turns.enter('loud', 1, never).then(() => begun++)
    await new Promise(setImmediate)
    expect(begun).toBe(10)
    expect([await clock.pass(), begun]).toEqual([100, 11])
    expect([await clock.pass(), begun]).toEqual([200, 12])
  })

  test('are equal for projects that wait, also if those of one count for more', async () => {
    const clock = imaginedClock()
    const turns = createProbeTurns({ clock, perSecond: 10 })
    const order: string[] = []
    const enter = (project: string, cost: number) =>
      void turns.enter(project, cost, never).then(() => order.push(project))
    enter('loud', 10)
    for (let n = 0; n < 100; n++) enter('loud', 5)
    for (let n = 0; n < 20; n++) enter('calm', 1)
    while (clock.now() < 4_500) await clock.pass()
    expect(order.filter((project) => project === 'calm')).toHaveLength(20)
    expect(order.filter((project) => project === 'loud').length).toBeGreaterThanOrEqual(4)
  })

  test('are not kept for a run that has ended', async () => {
    const clock = imaginedClock()
    const turns = createProbeTurns({ clock, perSecond: 1 })
    await turns.enter('loud', 1, never)
    const ending = new AbortController()
    const order: string[] = []
    const waiting = ['first', 'gone', 'last'].map((name) =>
      turns.enter('loud', 1, name === 'gone' ? ending.signal : never).then(() => order.push(name)),
    )
    ending.abort()
    await waiting[1]
    await clock.pass()
    expect([await clock.pass(), order]).toEqual([2_000, ['gone', 'first', 'last']])
    await turns.enter('loud', 1, ending.signal)
  })
})
