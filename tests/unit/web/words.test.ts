import { expect, test } from '@jest/globals'
import { snippetsOf } from '../../../web/src/pages/box/snippets.ts'
import { searchEntries } from '../../../web/src/shell/palette-search.ts'
import { agoText, bytesText, clockText, countWords, fullnessOf, missingCellsText } from '../../../web/src/ui/words.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [200 * 1024 ** 2, '200 MiB'],
  [1024 ** 5 * 5000, '5000 PiB'],
  [null, '–'],
])('%p bytes are %s', (bytes, expected) => expect(bytesText(bytes)).toBe(expected))

const NOON = Date.parse('2026-01-01T12:00:00Z')

test.each([
  ['2026-01-01T11:59:58Z', 'now'],
  ['2026-01-01T11:59:30Z', '30 s ago'],
  ['2026-01-01T11:00:01Z', '59 min ago'],
  ['2025-12-30T12:00:00Z', '2 d ago'],
  ['2026-01-01T14:00:00Z', 'in 2 h'],
  [null, '–'],
])('%p is %s', (time, expected) => expect(agoText(time, NOON)).toBe(expected))

test('a time of day has seconds where they differ', () => {
  const at = new Date(2026, 0, 1, 7, 5, 9).getTime() / 1000
  expect([clockText(at, false), clockText(at, true)]).toEqual(['07:05', '07:05:09'])
})

test('the palette finds by all words, what begins with them first, and at most 50', () => {
  const entries = ['demo/web', 'demo/cobweb', 'Boxes', 'demo/web terminal'].map((name) => ({
    name,
    href: name,
    kind: '',
  }))
  expect(searchEntries(entries, 'web').map(({ name }) => name)).toEqual([
    'demo/web',
    'demo/web terminal',
    'demo/cobweb',
  ])
  expect(searchEntries(entries, 'term WEB').map(({ name }) => name)).toEqual(['demo/web terminal'])
  expect(searchEntries(entries, 'nothing')).toEqual([])
  expect(searchEntries(entries, 'cbwb').map(({ name }) => name)).toEqual(['demo/cobweb'])
  expect(searchEntries([{ name: 'yard/web-main' }, { name: 'Theme: dark' }], 'wbmn')).toEqual([
    { name: 'yard/web-main' },
  ])
  const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `box-${index}`, href: '', kind: '' }))
  expect(searchEntries(many, 'box')).toHaveLength(50)
})

test('snippets name the box and the service, and no token', () => {
  const snippets = snippetsOf({ project: 'demo', name: 'web' }, 'http://127.0.0.1:8080')
  expect(snippets.map(({ name }) => name)).toEqual(['Command line', 'SSH', 'curl', 'TypeScript', 'Python'])
  for (const { text } of snippets) expect(text).toMatch(/web/)
})

test('one is one, and two are many', () => {
  expect([0, 1, 2].map((count) => countWords(count, 'core'))).toEqual(['0 cores', '1 core', '2 cores'])
  expect(missingCellsText(['bb'])).toContain('Some data is missing. Cell bb cannot be reached.')
  expect(missingCellsText(['bb', 'cc'])).toContain('Some data is missing. Cells bb, cc cannot be reached.')
})

test('room that is nearly used up is told in words', () => {
  expect([0, 90, 91, 99.5, 100].map((used) => fullnessOf(used, 100))).toEqual([
    null,
    null,
    'nearly full',
    'full',
    'full',
  ])
  expect(fullnessOf(1, 0)).toBeNull()
})
