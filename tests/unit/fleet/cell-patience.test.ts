import { beforeEach, expect, test } from '@jest/globals'
import { type CellPatience, createCellPatience } from '../../../agent/server/cell-patience.ts'

let now: number
let patience: CellPatience
beforeEach(() => {
  now = 1_000
  patience = createCellPatience({ now: () => now })
})

test('a cell that was silent gets little time until it is heard again', () => {
  expect(patience.of('bb')).toBe(5_000)
  patience.note('bb', false)
  expect([patience.of('bb'), patience.of('cc')]).toEqual([250, 5_000])
  patience.note('bb', true)
  expect(patience.of('bb')).toBe(5_000)
})

test('one that stays silent gets the full time now and then, of one request', () => {
  patience.note('bb', false)
  now += 19_999
  patience.note('bb', false)
  expect(patience.of('bb')).toBe(250)
  now += 1
  expect([patience.of('bb'), patience.of('bb')]).toEqual([5_000, 250])
})
