import { describe, expect, test } from '@jest/globals'
import { MemoryRing } from '../../../agent/lib/output/memory-ring.ts'

const read = (ring: MemoryRing, offset: number, maxBytes = 1_000_000): [number, string] => {
  const piece = ring.read(offset, maxBytes)
  return [piece.offset, piece.bytes.toString()]
}

describe('a ring in memory', () => {
  test('keeps the last bytes of a stream, for pieces of any size', () => {
    for (const size of [1, 3, 7, 10, 11, 25]) {
      const ring = new MemoryRing(10)
      const text = 'abcdefghijklmnopqrstuvwxy'
      for (let start = 0; start < text.length; start += size) ring.push(Buffer.from(text.slice(start, start + size)))
      expect(ring.totalBytes).toBe(25)
      expect(read(ring, 0)).toEqual([15, 'pqrstuvwxy'])
      expect(read(ring, 20)).toEqual([20, 'uvwxy'])
      expect(read(ring, 17, 4)).toEqual([17, 'rstu'])
      expect(read(ring, 25)).toEqual([25, ''])
    }
  })

  test('grows with its content, in order', () => {
    const ring = new MemoryRing(256 * 1024)
    const all: Buffer[] = []
    for (let index = 0; index < 700; index++) {
      const chunk = Buffer.from(`${index} `.repeat(100))
      ring.push(chunk)
      all.push(chunk)
      if (index % 50 > 0) continue
      const text = Buffer.concat(all)
      const kept = text.subarray(Math.max(0, text.length - 256 * 1024))
      const piece = ring.read(0, text.length)
      expect(piece.offset).toBe(text.length - kept.length)
      expect(piece.bytes.equals(kept)).toBe(true)
    }
    expect(ring.totalBytes).toBeGreaterThan(256 * 1024)
  })

  test('keeps copies and returns copies', () => {
    const ring = new MemoryRing(10)
    const chunk = Buffer.from('abc')
    ring.push(chunk)
    chunk.fill('x')
    ring.read(0, 10).bytes.fill('y')
    expect(read(ring, 0)).toEqual([0, 'abc'])
  })

  test('takes and counts nothing once it is sealed', () => {
    const ring = new MemoryRing(10)
    ring.push(Buffer.from('abc'))
    ring.seal()
    ring.push(Buffer.from('def'))
    expect([ring.totalBytes, ring.isSealed, ...read(ring, 0)]).toEqual([3, true, 0, 'abc'])
  })
})
