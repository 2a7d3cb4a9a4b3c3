import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createEventNotices, type EventNotices, type EventWriter } from '../../../agent/core/events/notices.ts'
import type { EventScope } from '../../../agent/ports/store/events.ts'

let notices: EventNotices
let commit: (project: string) => void
let told: string[]

beforeEach(() => {
  jest.useFakeTimers()
  told = []
  const writer: EventWriter = {
    onCommit: (listener) => {
      commit = (project) => listener(({ projects }: EventScope) => projects.includes(project))
      return () => undefined
    },
  }
  notices = createEventNotices([writer])
})

afterEach(() => void jest.useRealTimers())

/** Waits for events of a project, once or repeatedly. */
async function wait(project: string, { times = 1 } = {}): Promise<void> {
  for (let i = 0; i < times; i++) {
    await notices.during({ projects: [project], shared: false, admin: false }, (noticed) => noticed)
    told.push(project)
  }
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms)

test('only those are told who may see some of the new events', async () => {
  void wait('calm')
  void wait('loud')
  commit('loud')
  await pass(100)
  expect(told).toEqual(['loud'])
  commit('calm')
  await pass(0)
  expect(told).toEqual(['loud', 'calm'])
})

test('the first commit is told at once, those within 20 ms after it together', async () => {
  void wait('loud', { times: 10 })
  for (let i = 0; i < 39; i++) {
    commit('loud')
    await pass(1)
  }
  expect(told).toHaveLength(2)
  await pass(100)
  expect(told).toHaveLength(3)
})

test('who does not wait any more is told nothing', async () => {
  const outcome = notices.during({ projects: ['calm'], shared: false, admin: false }, async () => 'over')
  expect(await outcome).toBe('over')
  expect(() => commit('calm')).not.toThrow()
  expect(jest.getTimerCount()).toBe(0)
})
