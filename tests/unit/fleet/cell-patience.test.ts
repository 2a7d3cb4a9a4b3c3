import { beforeEach, expect, test } from '@jest/globals'
import { type CellPatience, createCellPatience } from '../../../agent/server/cells/cell-patience.ts'

let now: number
let patience: CellPatience
beforeEach(() => {
  now = 1_000
  patience = createCellPatience({ now: () => now })
})

test('a cell that was silent gets little time until it is heard again', () => {
  expect(patience.of('bb')).toBe(5_000)
  patience.noteSilence('bb', now)
  expect([patience.of('bb'), patience.of('cc')]).toEqual([250, 5_000])
  patience.noteHeard('bb')
  expect(patience.of('bb')).toBe(5_000)
})

test('one that stays silent gets the full time now and then, of one request', () => {
  patience.noteSilence('bb', now)
  now += 19_999
  patience.noteSilence('bb', now)
  expect(patience.of('bb')).toBe(250)
  now += 1
  expect([patience.of('bb'), patience.of('bb')]).toEqual([5_000, 250])
})

test('one that is slow for a caller, and answers others meanwhile, was not silent', () => {
  const asked = now
  now += 4_000
  patience.noteHeard('bb')
  now += 1_000
  patience.noteSilence('bb', asked)
  expect(patience.of('bb')).toBe(5_000)
  patience.noteSilence('bb', now - 1_000)
  expect(patience.of('bb')).toBe(250)
})
