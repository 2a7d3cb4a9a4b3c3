import { expect, test } from '@jest/globals'
import { notePassing } from '../../../shared/http/passing-bytes.ts'

test('passed buffers are freed while they are passed', () => {
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  for (let i = 0; i < 4000; i++) {
    const buffer = Buffer.allocUnsafeSlow(256 * 1024)
    notePassing(buffer.length)
    if (i % 16 === 0) most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  expect(most).toBeLessThan(40 * 1024 ** 2)
})
