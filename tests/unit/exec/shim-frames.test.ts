import { describe, expect, test } from '@jest/globals'
import {
  createShimFrameReader,
  encodeShimFrame,
  encodeShimFrameHeader,
  FRAME_PAYLOAD_BYTES,
  type Frame,
} from '../../../agent/drivers/exec/shim-frames.ts'

const VECTORS: [string, Frame][] = [
  ['00 00000003 616263', { kind: 'stdin', bytes: Buffer.from('abc') }],
  ['00 00000000', { kind: 'stdin', bytes: Buffer.alloc(0) }],
  ['01 00000002 0d0a', { kind: 'stdout', bytes: Buffer.from('\r\n') }],
  ['01 00000000', { kind: 'stdout', bytes: Buffer.alloc(0) }],
  ['02 00000001 ff', { kind: 'stderr', bytes: Buffer.from([255]) }],
  ['03 00000004 0050 0018', { kind: 'resize', size: { cols: 80, rows: 24 } }],
  ['03 00000004 ffff 0001', { kind: 'resize', size: { cols: 65_535, rows: 1 } }],
  ['04 00000000', { kind: 'idle' }],
]
const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')
const all = Buffer.concat(VECTORS.map(([hex]) => bytesOf(hex)))
const frames = VECTORS.map(([, frame]) => frame)

describe('frames', () => {
  test.each(VECTORS)('%s stands for one frame', (hex, frame) => {
    expect(encodeShimFrame(frame).equals(bytesOf(hex))).toBe(true)
    expect(createShimFrameReader().push(bytesOf(hex))).toEqual([frame])
  })

  test('the header is that of a frame with a payload of that length', () => {
    expect(encodeShimFrameHeader('stdout', 65_536).toString('hex')).toBe('0100010000')
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 11, all.length])('are the same in pieces of %i bytes', (size) => {
    const reader = createShimFrameReader()
    const read: Frame[] = []
    for (let start = 0; start < all.length; start += size) read.push(...reader.push(all.subarray(start, start + size)))
    expect(read).toEqual(frames)
  })

  test('the longest passes, in one piece and in many', () => {
    const frame: Frame = { kind: 'stdout', bytes: Buffer.alloc(FRAME_PAYLOAD_BYTES, 7) }
    const encoded = encodeShimFrame(frame)
    expect(createShimFrameReader().push(encoded)).toEqual([frame])
    const reader = createShimFrameReader()
    expect(reader.push(encoded.subarray(0, 40_000))).toEqual([])
    expect(reader.push(Buffer.concat([encoded.subarray(40_000), bytesOf('0400000000')]))).toEqual([
      frame,
      { kind: 'idle' },
    ])
  })

  test.each([
    ['an unknown type', '05 00000000'],
    ['text', '7b2274797065'],
    ['a longer payload than may be', '01 00010001'],
    ['a length that only a signed number would take', '00 ffffffff'],
    ['a size that is too short', '03 00000003'],
    ['a size that is too long', '03 00000005'],
    ['an idle frame that says something', '04 00000001'],
  ])('%s is refused as soon as its header is there', (_, hex) => {
    const reader = createShimFrameReader()
    expect(reader.push(bytesOf('00 00000001 61'))).toHaveLength(1)
    const bytes = bytesOf(hex)
    expect(reader.push(bytes.subarray(0, 4))).toEqual([])
    expect(() => reader.push(bytes.subarray(4))).toThrow()
  })
})
