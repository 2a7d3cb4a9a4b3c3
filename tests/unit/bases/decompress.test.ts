import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { decompress } from '../../../agent/core/bases/decompress.ts'

const CONTENT = Buffer.concat([randomBytes(300_000), Buffer.alloc(500_000, 'text ')])
const KINDS = [
  ['as it is', CONTENT],
  ['gzip', gzipSync(CONTENT)],
  ['gzip of two members', Buffer.concat([gzipSync(CONTENT.subarray(0, 7)), gzipSync(CONTENT.subarray(7))])],
  ['zstd', zstdCompressSync(CONTENT)],
] as const

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Yields pieces of 3 bytes near the start and the end, where headers, members and ends are, and of 64 KiB between. */
async function* inTinyPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const [first, last] = [2000, Math.max(bytes.length - 2000, 2000)]
  yield* inPieces(bytes.subarray(0, first), 3)
  yield* inPieces(bytes.subarray(first, last), 65_536)
  yield* inPieces(bytes.subarray(last), 3)
}

async function read(source: AsyncIterable<Uint8Array>, mostBytes = 10_000_000): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of decompress(source, mostBytes)) pieces.push(piece)
  return Buffer.concat(pieces)
}

test.each(KINDS)('%s: is decompressed whole from pieces of any size', async (_kind, bytes) => {
  for (const pieces of [inTinyPieces(bytes), inPieces(bytes, 65_536), inPieces(bytes, 10_000_000)])
    expect((await read(pieces)).equals(CONTENT)).toBe(true)
})

test('input too short for a signature stays as it is', async () => {
  expect(await read(inPieces(Buffer.alloc(0), 1))).toHaveLength(0)
  expect((await read(inPieces(Buffer.from('ab'), 1))).toString()).toBe('ab')
})

test.each(KINDS.slice(1))('%s: truncated or damaged input is refused', async (_kind, bytes) => {
  const cut = bytes.subarray(0, bytes.length - 20_000 < 0 ? bytes.length - 5 : bytes.length - 20_000)
  await expect(read(inPieces(cut, 1000))).rejects.toMatchObject({ code: 'invalid_request' })
  const altered = Buffer.from(bytes)
  altered.fill(0xff, 4, 40)
  await expect(read(inPieces(altered, 1000))).rejects.toMatchObject({ code: 'invalid_request' })
})

test.each([
  ['gzip', gzipSync(Buffer.alloc(50_000_000))],
  ['zstd', zstdCompressSync(Buffer.alloc(50_000_000))],
])('a bomb of %s is refused once too much came out, and no more of it is read', async (_kind, bomb) => {
  let isLeft = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield* inPieces(bomb, 1000)
    } finally {
      isLeft = true
    }
  }
  await expect(read(source(), 1_000_000)).rejects.toMatchObject({ code: 'body_too_large' })
  expect(isLeft).toBe(true)
})

test.each(KINDS)('%s: an error of the source is passed on, and an unread source is closed', async (_kind, bytes) => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 1000)
    throw new Error('cut off')
  }
  await expect(read(failing())).rejects.toThrow('cut off')
  let isLeft = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield bytes
    } finally {
      isLeft = true
    }
  }
  const pieces = decompress(source(), 10_000_000_000)
  await pieces.next()
  await pieces.return(undefined)
  expect(isLeft).toBe(true)
})

test.each([
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
] as const)('%s: what unpacks to far more than went in is refused after 256 MiB', async (_kind, compress) => {
  const dense = compress(Buffer.alloc(64 * 1024 ** 2))
  let out = 0
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let member = 0; member < 6; member++) yield* inPieces(dense, 10_000)
  }
  const reading = async (): Promise<void> => {
    for await (const piece of decompress(source(), 10_000_000_000)) out += piece.length
  }
  await expect(reading()).rejects.toMatchObject({
    code: 'body_too_large',
    message: expect.stringContaining('100 times'),
  })
  expect(out).toBeGreaterThan(255 * 1024 ** 2)
  expect(out).toBeLessThan(257 * 1024 ** 2)
})
