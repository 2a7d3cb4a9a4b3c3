import { expect, test } from '@jest/globals'
import { createListText } from '../../../agent/handlers/files/list-text.ts'
import { viewFile } from '../../../agent/handlers/files/view.ts'
import type { FileEntry } from '../../../agent/ports/files/files.ts'

const ENTRY: FileEntry = {
  path: 'plain',
  kind: 'file',
  sizeBytes: 2 ** 45,
  mode: 0o4755,
  uid: 0,
  gid: 65_534,
  modifiedAt: 1_763_752_000_123,
  etag: '"7x-0-abc"',
  target: null,
}
const MORE = { has_more: true, next_continuation_token: 'next' }

function written(entries: FileEntry[]): unknown {
  const text = createListText()
  // Adds two entries at a time, or none.
  for (let start = 0; start <= entries.length; start += 2) text.add(entries.slice(start, start + 2))
  return JSON.parse(Buffer.from(text.end(MORE)).toString())
}

test('a list without entries', () => {
  expect(written([])).toEqual({ files: [], ...MORE })
})

test('each entry has the form of a single stat', () => {
  const bytes = Array.from({ length: 255 }, (_, index) => ({ ...ENTRY, path: `a${String.fromCharCode(index + 1)}/` }))
  const others: Partial<FileEntry>[] = [
    { path: Buffer.from('ü ☃ \u{1f600} \u2028').toString('latin1') },
    { path: '' },
    { kind: 'symlink', target: Buffer.from('../"x"\\\n') },
    { kind: 'symlink', target: Buffer.from([0xff, 0x2f]) },
    { kind: 'directory', mode: 0 },
    ...[0, -1, 999, 1000, 1001, -62_167_219_200_000, 253_402_300_799_999].map((modifiedAt) => ({ modifiedAt })),
  ]
  const entries = [...bytes, ...others.map((other) => ({ ...ENTRY, ...other }))]
  const alone = entries.map((entry) => viewFile(Buffer.from(entry.path, 'latin1'), entry))
  expect(written(entries)).toEqual({ files: alone, ...MORE })
})

test('a long list is complete', () => {
  const entries = Array.from({ length: 3000 }, (_, index) => ({ ...ENTRY, path: String(index) }))
  expect(written(entries)).toMatchObject({ files: entries.map(({ path }) => ({ path })) })
})
