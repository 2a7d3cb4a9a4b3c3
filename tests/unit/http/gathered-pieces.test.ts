import { expect, test } from '@jest/globals'
import { createGatheredPieces } from '../../../shared/http/gathered-pieces.ts'

/** Returns pieces of these lengths, whose bytes count up. */
function piecesOf(lengths: readonly number[]): Uint8Array[] {
  let next = 0
  return lengths.map((length) => Uint8Array.from({ length }, () => next++ % 251))
}

test('pieces of one byte become few blocks with the same bytes', () => {
  const gathered = createGatheredPieces()
  const pieces = piecesOf(Array<number>(100_000).fill(1))
  for (const piece of pieces) gathered.push(piece)
  const all = gathered.takeAll()
  expect(all.length).toBeLessThan(30)
  expect(Buffer.concat(all).equals(Buffer.concat(pieces))).toBe(true)
  expect(gathered.takeAll()).toEqual([])
})

test.each([[[1, 2000, 1, 1, 5000, 3]], [[0, 1023, 1024, 1023, 1023, 1023, 1023, 1023]], [[7]], [[]]])(
  'pieces of %j bytes keep their order',
  (lengths) => {
    const [one, other] = [createGatheredPieces(), createGatheredPieces()]
    const pieces = piecesOf(lengths)
    for (const piece of pieces) {
      one.push(piece)
      other.push(piece)
    }
    const shifted: Uint8Array[] = []
    for (let piece = other.shift(); piece !== undefined; piece = other.shift()) shifted.push(piece)
    for (const taken of [one.takeAll(), shifted]) expect(Buffer.concat(taken).equals(Buffer.concat(pieces))).toBe(true)
  },
)

test('a long piece, and a short one alone, are not copied', () => {
  const gathered = createGatheredPieces()
  const [short, long] = piecesOf([10, 4096]) as [Uint8Array, Uint8Array]
  gathered.push(short)
  gathered.push(long)
  expect(gathered.takeAll().map((piece, index) => piece === [short, long][index])).toEqual([true, true])
})

test('a block that was taken does not change any more', () => {
  const gathered = createGatheredPieces()
  for (const piece of piecesOf([1, 1, 1])) gathered.push(piece)
  const taken = gathered.shift()
  gathered.push(Uint8Array.of(9))
  gathered.push(Uint8Array.of(9))
  expect([...(taken ?? [])]).toEqual([0, 1, 2])
})
