import { expect, test } from '@jest/globals'
import { createFairShares, largestShare } from '../../../shared/fair-shares.ts'

test('existing use is counted even beyond the limit', () => {
  const shares = createFairShares(2)
  const leaves = [shares.add('a'), shares.add('a'), shares.add('a')]
  expect([shares.held(), shares.take('b')]).toEqual([3, null])
  for (const leave of leaves) leave()
  expect(shares.take('b')).not.toBeNull()
})

test('one owner gets half of what there is, rounded down', () => {
  expect([largestShare(12), largestShare(5), largestShare(1)]).toEqual([6, 2, 0])
})
