import { describe, expect, test } from '@jest/globals'
import { type BoundBox, chooseCpus, parseCpus, planMoves } from '../../../agent/drivers/host/cpu-choice.ts'

const box = (id: string, cpus: number[], load: number): BoundBox => ({ id, cpus, load })

test.each([
  ['0-3,5\n', [0, 1, 2, 3, 5]],
  ['7', [7]],
  ['', []],
])('the list of CPUs %j is read', (text, cpus) => {
  expect(parseCpus(text)).toEqual(cpus)
})

describe('the CPUs of a box', () => {
  const others = [box('a', [0], 1), box('b', [1, 2], 1)]

  test.each([
    ['are the least loaded', [], 1, [3]],
    ['are as many as it may use', [], 2, [1, 3]],
    ['are all where there are fewer', [], 9, [0, 1, 2, 3]],
    ['stay when it may use more', [0], 2, [0, 3]],
    ['stay in part when it may use less', [0, 1], 1, [1]],
    ['are others where one is gone', [7], 1, [3]],
  ])('%s', (_, held, count, expected) => {
    expect(chooseCpus({ available: [0, 1, 2, 3], held, count }, others)).toEqual(expected)
  })
})

describe('moves between CPUs', () => {
  test('part two busy boxes of one CPU, and take an idle one along to none', () => {
    const boxes = [box('idle', [0], 0.01), box('a', [0], 0.9), box('b', [0], 0.8), box('c', [1], 0.02)]
    expect(planMoves(boxes, [0, 1])).toEqual([{ id: 'b', cpus: [1] }])
  })

  test.each([
    ['even loads', [box('a', [0], 1), box('b', [1], 0.95)]],
    ['one busy box, which may use one', [box('a', [0], 1), box('b', [1], 0)]],
    ['boxes on all CPUs', [box('a', [0, 1], 2), box('b', [0, 1], 1)]],
    ['no box', []],
  ])('are none for %s', (_, boxes) => {
    expect(planMoves(boxes, [0, 1])).toEqual([])
  })

  test('exchange one CPU of several, and are bounded', () => {
    expect(planMoves([box('a', [0, 1], 2), box('b', [0, 1], 2)], [0, 1, 2, 3])).toEqual([{ id: 'a', cpus: [2, 3] }])
    const boxes = Array.from({ length: 100 }, (_, index) => box(`box_${index}`, [0], 0.3))
    expect(planMoves(boxes, [0, 1, 2, 3])).toHaveLength(16)
  })
})
