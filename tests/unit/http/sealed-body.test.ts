import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { bodyMac } from '../../../shared/auth/body-mac.ts'
import { openSealed, SEAL_BYTES, sealBody } from '../../../shared/auth/sealed-body.ts'

const KEY = { id: 'k1', secret: Buffer.alloc(32, 1).toString('base64url') }
const mac = () => bodyMac(KEY, 'of a head')
const REFUSED = expect.objectContaining({ code: 'invalid_request', status: 400 })

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

const seal = (bytes: Uint8Array, size = 7): Promise<Buffer> => gather(sealBody(inPieces(bytes, size), mac()))
const open = (bytes: Uint8Array, size = 5): Promise<Buffer> => gather(openSealed(inPieces(bytes, size), mac()))

describe('a sealed body', () => {
  test.each([0, 1, 31, 32, 33, 64, 1000])('of %i bytes is opened unchanged from pieces of any size', async (length) => {
    const bytes = randomBytes(length)
    const sealed = await seal(bytes)
    expect(sealed.length).toBe(length + SEAL_BYTES)
    for (const size of [1, 2, 16, 31, 32, 33, 63, 64, 65, 5000]) expect(await open(sealed, size)).toEqual(bytes)
  })

  test('is passed on as it arrives, except for its last piece, and not copied', async () => {
    const sealed = await seal(randomBytes(1000))
    let taken = 0
    const source = async function* () {
      for await (const piece of inPieces(sealed, 100)) {
        taken += piece.length
        yield piece
      }
    }
    const pieces = openSealed(source(), mac())
    for (let given = 100; given <= 900; given += 100) {
      const piece = (await pieces.next()).value
      expect(piece?.length).toBe(100)
      expect(piece?.buffer).toBe(sealed.buffer)
      expect(taken).toBe(given + 100)
    }
  })

  test('is opened with a known length, and refused with another length', async () => {
    const bytes = randomBytes(1000)
    const sealed = await seal(bytes)
    const openAs = (length: number, size: number): Promise<Buffer> =>
      gather(openSealed(inPieces(sealed, size), mac(), length))
    for (const size of [1, 15, 16, 17, 999, 1000, 1001, 1016]) {
      expect(await openAs(sealed.length, size)).toEqual(bytes)
      expect(await openAs(0, size)).toEqual(bytes)
      await expect(openAs(sealed.length + 1, size)).rejects.toEqual(REFUSED)
    }
  })

  test('is passed on part by part, and none of it twice', async () => {
    const whole = bodyMac(KEY, 's')
    whole.update(Buffer.from('abcdef'))
    const parts = bodyMac(KEY, 's')
    for (const part of ['a', '', 'bcd', 'ef']) parts.update(Buffer.from(part))
    expect(parts.digest()).toEqual(whole.digest())
  })

  test('cut off anywhere is refused', async () => {
    const sealed = await seal(randomBytes(100))
    for (let length = 0; length < sealed.length; length++) {
      await expect(open(sealed.subarray(0, length))).rejects.toEqual(REFUSED)
    }
  })

  test('of no bytes is refused without its seal', async () => {
    const sealed = await seal(Buffer.alloc(0))
    expect(await open(sealed)).toEqual(Buffer.alloc(0))
    await expect(open(Buffer.alloc(0))).rejects.toEqual(REFUSED)
  })

  test('with one bit altered anywhere is refused', async () => {
    const sealed = await seal(randomBytes(40))
    for (let at = 0; at < sealed.length; at++) {
      const altered = Buffer.from(sealed)
      altered[at] = (altered[at] ?? 0) ^ 1
      await expect(open(altered)).rejects.toEqual(REFUSED)
    }
  })

  test('with bytes appended, or a piece missing, repeated or moved is refused', async () => {
    const [one, two] = [randomBytes(32), randomBytes(32)]
    const sealed = await seal(Buffer.concat([one, two]))
    const end = sealed.subarray(64)
    for (const parts of [
      [one, two, end, end],
      [one, two, end, one],
      [one, end],
      [one, one, two, end],
      [two, one, end],
    ]) {
      await expect(open(Buffer.concat(parts))).rejects.toEqual(REFUSED)
    }
  })

  test('with the seal of another is refused', async () => {
    const [one, other] = [await seal(Buffer.from('one')), await seal(Buffer.from('two'))]
    await expect(open(Buffer.concat([one.subarray(0, 3), other.subarray(3)]))).rejects.toEqual(REFUSED)
  })

  test('whose source throws is not sealed', async () => {
    const source = async function* () {
      yield Buffer.from('half')
      throw new Error('the client left')
    }
    const pieces = sealBody(source(), mac())
    expect((await pieces.next()).value).toEqual(Buffer.from('half'))
    await expect(pieces.next()).rejects.toThrow('the client left')
    expect(await pieces.next()).toEqual({ done: true, value: undefined })
  })
})

test('has a seal bound to one key and one signature', () => {
  const other = { id: 'k1', secret: Buffer.alloc(32, 2).toString('base64url') }
  const digests = [bodyMac(KEY, 'a'), bodyMac(KEY, 'a'), bodyMac(KEY, 'b'), bodyMac(other, 'a')].map((one) => {
    one.update(Buffer.from('body'))
    return one.digest().toString('hex')
  })
  expect(digests[0]).toBe(digests[1])
  expect(new Set(digests).size).toBe(3)
})
