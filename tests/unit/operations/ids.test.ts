import { expect, test } from '@jest/globals'
import { readAgentSettings } from '../../../agent/config/agent.ts'
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

test('no two numbers that a cell may have are one in ids', () => {
  const isNumber = (cell: string): boolean => {
    try {
      readAgentSettings({ BOXYARD_CELL: cell })
      return true
    } catch (error) {
      if (String(error).includes('expected 2 to 4')) return false
      throw error
    }
  }
  const spellings = ['00', 'aa', '0aa', '00aa', '0a', '00a', '000a', 'a0', '0a0', 'aaa', '0aaa', 'aaaa', 'a', 'il']
  const numbers = spellings.filter(isNumber)
  expect(numbers).toEqual(['00', 'aa', '0a', 'a0', 'aaa', 'aaaa'])
  for (const one of numbers)
    expect(numbers.filter((other) => isOfCell(newIdOfCell('opr', 1_000, one), other))).toEqual([one])
})
