import { describe, expect, test } from '@jest/globals'
import { type CellPart, mergeParts, shareOf } from '../../../agent/core/events/merge.ts'

type Given = Omit<CellPart<string>, 'items'> & { items: [number: number, at: number][] }

/** Merges parts whose values are `cell number`, and returns the values. */
function merge(parts: readonly Given[], { limit = 100, order = 1 }: { limit?: number; order?: 1 | -1 } = {}) {
  const given = parts.map(({ cell, items, hasMore }) => ({
    ...{ cell, hasMore },
    items: items.map(([number, at]) => ({ number, at, value: `${cell} ${number}` })),
  }))
  const { items, cut } = mergeParts(given, { limit, order })
  return { values: items.map(({ value }) => value), cut: [...cut] }
}

describe('parts of several cells', () => {
  test('come by time', () => {
    const parts: Given[] = [
      {
        cell: 'aa',
        items: [
          [1, 10],
          [2, 30],
        ],
        hasMore: false,
      },
      {
        cell: 'bb',
        items: [
          [7, 20],
          [8, 40],
        ],
        hasMore: false,
      },
    ]
    expect(merge(parts)).toEqual({ values: ['aa 1', 'bb 7', 'aa 2', 'bb 8'], cut: [] })
  })

  test('keep the order of each cell, though its clock was set back', () => {
    const parts: Given[] = [
      {
        cell: 'aa',
        items: [
          [1, 50],
          [2, 10],
          [3, 60],
        ],
        hasMore: false,
      },
      {
        cell: 'bb',
        items: [
          [1, 40],
          [2, 55],
        ],
        hasMore: false,
      },
    ]
    expect(merge(parts).values).toEqual(['bb 1', 'aa 1', 'aa 2', 'bb 2', 'aa 3'])
  })

  test('end where a cell has more that may belong before the rest', () => {
    const parts: Given[] = [
      {
        cell: 'aa',
        items: [
          [1, 10],
          [2, 20],
        ],
        hasMore: true,
      },
      {
        cell: 'bb',
        items: [
          [1, 15],
          [2, 25],
        ],
        hasMore: false,
      },
    ]
    expect(merge(parts)).toEqual({ values: ['aa 1', 'bb 1', 'aa 2'], cut: ['bb'] })
  })

  test('wait for a cell that has more, and has told nothing yet', () => {
    const parts: Given[] = [
      { cell: 'aa', items: [], hasMore: true },
      { cell: 'bb', items: [[1, 15]], hasMore: false },
    ]
    expect(merge(parts)).toEqual({ values: [], cut: ['bb'] })
  })

  test('are no more than the limit', () => {
    const parts: Given[] = [
      {
        cell: 'aa',
        items: [
          [1, 10],
          [2, 20],
        ],
        hasMore: false,
      },
      { cell: 'bb', items: [[1, 15]], hasMore: false },
    ]
    expect(merge(parts, { limit: 2 })).toEqual({ values: ['aa 1', 'bb 1'], cut: ['aa'] })
  })

  test('come newest first where that is asked', () => {
    const parts: Given[] = [
      {
        cell: 'aa',
        items: [
          [9, 30],
          [8, 10],
        ],
        hasMore: true,
      },
      {
        cell: 'bb',
        items: [
          [4, 40],
          [3, 20],
          [2, 5],
        ],
        hasMore: false,
      },
    ]
    expect(merge(parts, { order: -1 })).toEqual({ values: ['bb 4', 'aa 9', 'bb 3', 'aa 8'], cut: ['bb'] })
  })
})

test('each cell is asked for a whole page, or for its share of what one read may take', () => {
  expect([shareOf(1000, 1), shareOf(100, 3), shareOf(1000, 3), shareOf(100, 50), shareOf(1, 5000)]).toEqual([
    1000, 100, 666, 40, 1,
  ])
})
