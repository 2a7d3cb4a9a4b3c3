import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import { EntryRefusedError, newReport, reportRefused } from '../../../agent/drivers/files/archive/refusals.ts'
import { addTime, createTimes } from '../../../agent/drivers/files/archive/times.ts'
import type { TarEntry } from '../../../agent/lib/tar/reader.ts'

/** Returns the bytes held after `work`, minus those held before. */
function heldBy(work: () => void): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  work()
  collect()
  return process.memoryUsage().heapUsed - before
}

const longText = (front: string, length: number): string =>
  Buffer.from(front.padEnd(length, '/.'), 'latin1').toString('latin1')

test('a report keeps no more of a name in memory than it shows', () => {
  const report = newReport()
  const held = heldBy(() => {
    for (let i = 0; i < 300; i++) reportRefused(report, longText(`${i}-`, 200_000), new EntryRefusedError('no'))
  })
  expect(report.refused.map(({ path }) => path.length)).toEqual(Array(300).fill(1024))
  expect(held).toBeLessThan(10 * 1024 ** 2)
})

test('the time of a directory is kept with its name only, not with its whole entry', () => {
  const times = createTimes(-1)
  const entry = { modifiedSeconds: 1, modifiedNanoseconds: 0 } as TarEntry
  const held = heldBy(() => {
    for (let i = 0; i < 10_000; i++) {
      const [name = ''] = longText(`a-directory-${i}/`, 4000).split('/')
      addTime(times, { names: [name], entry, io: { mustPause: () => false } }).next()
    }
  })
  expect(times.waiting).toHaveLength(10_000)
  expect(held).toBeLessThan(10 * 1024 ** 2)
})
