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

test('commands that end by one kill each, one after the other, all do', () => {
  const since = oom.count('box_a')
  kills = 2
  expect(oom.isRecent('box_a', since)).toBe(true)
  now = 500
  expect(oom.isRecent('box_a', since)).toBe(true)
})

test('one that was seen long before is not the cause of another end, nor one from before its start', () => {
  const since = oom.count('box_a')
  kills = 1
  expect(oom.isRecent('box_a', since)).toBe(true)
  expect(oom.isRecent('box_a', oom.count('box_a'))).toBe(false)
  now = 2_000
  expect(oom.isRecent('box_a', since)).toBe(false)
})

test('a box that starts anew counts from nothing', () => {
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

test('of a box that is watched a kill is seen within a second, though nothing of it ends then', () => {
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
