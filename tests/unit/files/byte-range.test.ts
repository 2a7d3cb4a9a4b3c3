import { describe, expect, test } from '@jest/globals'
import { rangeOf } from '../../../agent/handlers/files/byte-range.ts'

describe('a Range header', () => {
  test.each([
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=2-4', { start: 2, end: 5 }],
    ['bytes=9-', { start: 9, end: 10 }],
    ['bytes=5-99999', { start: 5, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-99', { start: 0, end: 10 }],
  ])('%s of 10 bytes', (header, range) => {
    expect(rangeOf(header, 10)).toEqual(range)
  })

  test.each([null, 'bytes=', 'bytes=-', 'bytes=a-b', 'lines=0-1', 'bytes=0-1,3-4', 'bytes=4-2', 'bytes= 0-1'])(
    '%s asks for all',
    (header) => {
      expect(rangeOf(header, 10)).toBeNull()
    },
  )

  test.each([
    ['bytes=10-', 10],
    ['bytes=10-11', 10],
    ['bytes=-0', 10],
    ['bytes=0-', 0],
    ['bytes=-5', 0],
  ])('%s of %d bytes cannot be satisfied, and the length is returned', (header, size) => {
    const refusal = { code: 'range_not_satisfiable', headers: { 'Content-Range': `bytes */${size}` } }
    expect(() => rangeOf(header, size)).toThrow(expect.objectContaining(refusal))
  })
})
