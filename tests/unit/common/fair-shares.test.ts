import { expect, test } from '@jest/globals'
import { createFairShares, largestShare } from '../../../shared/fair-shares.ts'

test('a single user gets half, and others still get theirs', () => {
  const shares = createFairShares(12)
  const takeAll = (owner: string): number => {
    let taken = 0
    while (shares.take(owner) !== null) taken++
    return taken
  }
  expect([takeAll('a'), takeAll('b'), takeAll('c')]).toEqual([6, 3, 1])
  expect([shares.held(), largestShare(12)]).toEqual([10, 6])
})

test('two users that take in turn leave as much as each has', () => {
  const shares = createFairShares(12)
  let taken = 0
  while (shares.take('a') !== null && shares.take('b') !== null) taken++
  expect(taken).toBe(4)
})

test('a use counts against all its owners, once each', () => {
  const shares = createFairShares(12)
  const takeAll = (...owners: string[]): number => {
    let taken = 0
    while (shares.take(owners) !== null) taken++
    return taken
  }
  // Neither many boxes of a project nor many projects of a token get more than one.
  expect([takeAll('box 1', 'project a', 'token x', 'token x'), takeAll('box 2', 'project a', 'token y')]).toEqual([
    6, 0,
  ])
  expect([takeAll('box 3', 'project b', 'token x'), takeAll('box 3', 'project b', 'token y')]).toEqual([0, 3])
  expect(shares.held()).toBe(9)
  shares.take([], 3)
  expect(shares.take([], 1)).toBeNull()
})

test('an amount is taken whole or not at all, and an amount of zero always fits', () => {
  const shares = createFairShares(64)
  const giveBack = shares.take('a', 32)
  expect(shares.take('a', 1)).toBeNull()
  expect(shares.take('b', 17)).toBeNull()
  expect(shares.take('b', 16)).not.toBeNull()
  expect(shares.take('a', 0)).not.toBeNull()
  giveBack?.()
  giveBack?.()
  expect([shares.held(), shares.take('a', 24) !== null]).toEqual([16, true])
})

test('existing use is counted even beyond the limit', () => {
  const shares = createFairShares(2)
  const leaves = [shares.add('a'), shares.add('a'), shares.add('a')]
  expect([shares.held(), shares.take('b')]).toEqual([3, null])
  for (const leave of leaves) leave()
  expect(shares.take('b')).not.toBeNull()
})
