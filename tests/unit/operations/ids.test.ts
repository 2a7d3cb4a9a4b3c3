import { expect, test } from '@jest/globals'
import { isOfCell, newId, newIdOfCell } from '../../../shared/ids.ts'

test('the id of an operation of a cell has its number after the time, and sorts by time', () => {
  const [early, late] = [newIdOfCell('opr', 1_000, 'k1'), newIdOfCell('opr', 2_000, 'aaaa')]
  expect(early).toMatch(/^opr_[0-9a-z]{10}00k1[0-9a-hjkmnp-tv-z]{12}$/)
  expect(late.slice(14, 18)).toBe('aaaa')
  expect(early < late).toBe(true)
  expect(newIdOfCell('opr', 1_000, 'k1')).not.toBe(early)
})

test('an id is of the cell that made it', () => {
  const id = newIdOfCell('opr', 1_000, 'k1')
  expect(['k1', 'k2', '1k', '0k1'].map((cell) => isOfCell(id, cell))).toEqual([true, false, false, true])
  expect(newId('opr', 1_000)).toHaveLength(id.length)
})
