import { expect, test } from '@jest/globals'
import { createBoxActivity } from '../../../agent/core/boxes/activity.ts'

test('a box is in use until each of its uses has ended, once', () => {
  const activity = createBoxActivity()
  const told: string[] = []
  activity.onUse((boxId) => told.push(boxId))
  const [first, second] = [activity.begin('a'), activity.begin('a')]
  first()
  first()
  expect([activity.isInUse('a'), activity.isInUse('b')]).toEqual([true, false])
  second()
  expect(activity.isInUse('a')).toBe(false)
  expect(told).toEqual(['a', 'a', 'a', 'a'])
})
