import { beforeEach, expect, jest, test } from '@jest/globals'
import { createOomKills, type OomKills } from '../../../agent/drivers/host/oom-kills.ts'

let now = 0
let kills = 0
let oom: OomKills

beforeEach(() => {
  ;[now, kills] = [0, 0]
  oom = createOomKills(
    () => kills,
    () => now,
  )
})

test('a kill that is first seen with the end of a command is its cause', () => {
  const since = oom.count('box_a')
  now = 3_600_000
  kills = 1
  expect(oom.isRecent('box_a', since)).toBe(true)
})

test('commands that end by one kill each all have it as their cause', () => {
  const since = oom.count('box_a')
  kills = 2
  expect(oom.isRecent('box_a', since)).toBe(true)
  now = 500
  expect(oom.isRecent('box_a', since)).toBe(true)
})

test('a kill seen long before the end, or before the start, is not its cause', () => {
  const since = oom.count('box_a')
  kills = 1
  expect(oom.isRecent('box_a', since)).toBe(true)
  expect(oom.isRecent('box_a', oom.count('box_a'))).toBe(false)
  now = 2_000
  expect(oom.isRecent('box_a', since)).toBe(false)
})

test('a box that starts again counts from zero', () => {
  kills = 3
  oom.count('box_a')
  kills = 0
  const since = oom.count('box_a')
  expect(oom.isRecent('box_a', since)).toBe(false)
  kills = 1
  expect(oom.isRecent('box_a', since)).toBe(true)
  oom.forget('box_a')
  kills = 0
  expect(oom.isRecent('box_a', since)).toBe(false)
})

test('a kill in a watched box is seen within a second, even if no command ends', () => {
  jest.useFakeTimers()
  const unwatch = [oom.watch('box_a'), oom.watch('box_a')]
  const since = oom.count('box_a')
  kills = 1
  unwatch[0]?.()
  jest.advanceTimersByTime(1_000)
  now = 3_000
  expect(oom.isRecent('box_a', since)).toBe(false)
  unwatch[1]?.()
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

test('a counter that cannot be read ends neither the polling nor the record of a command', () => {
  jest.useFakeTimers()
  const unwatch = oom.watch('box_a')
  const since = oom.count('box_a')
  kills = 1
  expect(oom.count('box_a')).toBe(1)
  const failing = createOomKills(
    () => {
      throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    },
    () => now,
  )
  failing.watch('box_b')
  jest.advanceTimersByTime(2_000)
  expect(failing.isRecent('box_b', 0)).toBe(false)
  unwatch()
  expect(oom.isRecent('box_a', since)).toBe(true)
  jest.clearAllTimers()
  jest.useRealTimers()
})

test('the total counts kills since each box was first counted, also of boxes that are gone', () => {
  const counts = new Map([
    ['box_a', 2],
    ['box_b', 0],
  ])
  const all = createOomKills(
    (boxId) => counts.get(boxId) ?? null,
    () => 0,
  )
  for (const boxId of ['box_a', 'box_b', 'box_none']) all.count(boxId)
  expect(all.total()).toBe(0)
  counts.set('box_a', 3).set('box_b', 5)
  expect(all.total()).toBe(6)
  all.forget('box_b')
  counts.set('box_a', 1).delete('box_b')
  expect(all.total()).toBe(7)
})
