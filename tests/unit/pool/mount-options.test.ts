import { expect, test } from '@jest/globals'
import { poolOptions } from '../../../agent/drivers/pool/mount.ts'

test.each([
  [1, 1],
  [2, 1],
  [3, 1],
  [4, 2],
  [16, 8],
  [64, 8],
])("on %i CPUs each kind of the kernel's work on the pool gets %i threads", (cpus, threads) => {
  expect(poolOptions(cpus)).toMatch(new RegExp(`^compress=zstd:1,.*,thread_pool=${threads}$`))
})
