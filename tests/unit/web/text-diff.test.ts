import { expect, test } from '@jest/globals'
import { addressOfFile, fileOfAddress } from '../../../web/src/pages/box/snapshots/diff-address.ts'
import { compareTexts } from '../../../web/src/pages/box/snapshots/text-diff.ts'

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('')

test('lines that differ are told with three around them, and the rest is counted', () => {
  const before = `${lines(1, 10)}old\n${lines(12, 30)}`
  const after = `${lines(1, 10)}new\r\nmore\n${lines(12, 30)}`
  const compared = compareTexts(before, after)
  expect(compared).toMatchObject({ added: 2, deleted: 1 })
  expect(compared?.rows).toEqual([
    { kind: 'gap', count: 7 },
    ...[8, 9, 10].map((at) => ({ kind: 'same', before: at, after: at, text: `line ${at}` })),
    { kind: 'deleted', before: 11, after: null, text: 'old' },
    { kind: 'added', before: null, after: 11, text: 'new␍' },
    { kind: 'added', before: null, after: 12, text: 'more' },
    ...[12, 13, 14].map((at) => ({ kind: 'same', before: at, after: at + 1, text: `line ${at}` })),
    { kind: 'gap', count: 16 },
  ])
})

test('a text that is the same has no rows, and a missing line end is told', () => {
  expect(compareTexts('a\n', 'a\n')).toEqual({ rows: [], added: 0, deleted: 0 })
  expect(compareTexts('', 'a')?.rows).toEqual([
    { kind: 'added', before: null, after: 1, text: 'a' },
    { kind: 'note', text: 'no newline at end of file' },
  ])
})

test('texts that differ throughout are given up in time', () => {
  const random = (seed: number): string =>
    Array.from({ length: 60_000 }, (_, index) => `${(index * 7_919 * seed) % 100_003}\n`).join('')
  const start = performance.now()
  expect(compareTexts(random(3), random(5))).toBeNull()
  expect(performance.now() - start).toBeLessThan(20_000)
})

test.each([
  [{ path: '/a', path_base64: null, from: null, from_base64: null }, ['/a', '/a']],
  [{ path: '/b', path_base64: null, from: '/a', from_base64: null }, ['/a', '/b']],
  [{ path: '/b\ufffd', path_base64: 'L2L/', from: null, from_base64: null }, ['/b\ufffd', '/b\ufffd']],
])('the address of the file of a change leads to it', (paths, expected) => {
  const change = { kind: 'modified', type: 'file', size_bytes: 1, modified: false, ...paths } as never
  const found = fileOfAddress(addressOfFile(change))
  expect([found?.before.text, found?.after.text]).toEqual(expected)
  expect(fileOfAddress({})).toBeNull()
})
