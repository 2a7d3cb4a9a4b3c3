import { describe, expect, test } from '@jest/globals'
import { budgetAfter, budgetOf, leftOf } from '../../../agent/drivers/boxes/disk-budget.ts'
import { parseIoStat, parseServiced } from '../../../agent/drivers/host/cgroup/disk-io.ts'

const NOTHING = { bytes: 0, operations: 0 }

describe('what a box may still take of the disk', () => {
  const bounds = { diskMbps: 10, diskIops: 100 }
  const after = (seconds: number, used: Partial<typeof NOTHING>, level = 1, more = bounds) =>
    budgetAfter(budgetOf(level), { used: { ...NOTHING, ...used }, seconds, bounds: more })

  test('is that of a second at most, and comes back with time', () => {
    expect(after(60, {})).toEqual(budgetOf(1))
    expect(after(0, { bytes: 10e6 })).toEqual({ bytes: 0, operations: 1 })
    expect(leftOf(after(0, { bytes: 25e6 }))).toBeCloseTo(-1.5)
    expect(leftOf(after(0, { operations: 250 }))).toBeCloseTo(-1.5)
    expect(leftOf(after(2, {}, -1.5))).toBeCloseTo(0.5)
  })

  test('is ten seconds too much at most', () => {
    expect(leftOf(after(0, { bytes: 1e9 }))).toBe(-10)
    expect(leftOf(after(0, { operations: 1e9 }, -10))).toBe(-10)
  })

  test('is any amount without a bound', () => {
    const unbounded = { diskMbps: null, diskIops: null }
    expect(
      budgetAfter(budgetOf(-5), { used: { bytes: 1e12, operations: 1e9 }, seconds: 0, bounds: unbounded }),
    ).toEqual(budgetOf(1))
  })
})

describe('the disk counters of a cgroup', () => {
  test('of version 2 are those of the device with the most', () => {
    const text = `7:0 rbytes=4096 wbytes=1048576 rios=1 wios=9 dbytes=512 dios=3
8:0 rbytes=0 wbytes=2097152 rios=0 wios=4 dbytes=0 dios=0
254:0 
`
    expect(parseIoStat(text)).toEqual({ bytes: 2_097_152, operations: 10 })
    expect(parseIoStat('')).toEqual(NOTHING)
  })

  test('of version 1 are reads and writes of the device with the most', () => {
    const text = `7:0 Read 10
7:0 Write 20
7:0 Sync 25
7:0 Async 5
7:0 Discard 7
7:0 Total 37
254:0 Read 1
254:0 Write 2
254:0 Total 3
Total 40
`
    expect(parseServiced(text)).toBe(30)
    expect(parseServiced('Total 0\n')).toBe(0)
    expect(parseServiced('')).toBe(0)
  })
})
