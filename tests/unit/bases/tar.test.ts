import { describe, expect, test } from '@jest/globals'
import { extract, pack } from 'tar-stream'
import { encodeTarHeader, type WrittenHeader } from '../../../agent/lib/tar/headers.ts'
import { createTarReader, type TarSource } from '../../../agent/lib/tar/reader.ts'
import { entryOf, paxOf, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { readFirstOf, readTar } from '../../helpers/bases/read-tar.ts'

const HEADER: WrittenHeader = {
  kind: 'file',
  path: 'a',
  target: '',
  mode: 0o4755,
  uid: 7,
  gid: 65_534,
  sizeBytes: 0,
  modifiedSeconds: 1_600_000_000,
  modifiedNanoseconds: 0,
}

describe('an archive that is written', () => {
  const end = Buffer.alloc(1024)
  test.each<[string, Partial<WrittenHeader>]>([
    ['as it is', {}],
    ['with a name of 100 bytes', { path: 'n'.repeat(100) }],
    ['with a name in two parts', { path: `${'p'.repeat(155)}/${'n'.repeat(100)}` }],
    ['with a long name', { path: `${'p'.repeat(156)}/${'n'.repeat(100)}` }],
    ['with a long name that is no text', { path: '\xff'.repeat(300) }],
    ['of a directory with a name of 101 bytes', { kind: 'directory', path: `${'d'.repeat(100)}/` }],
    ['of a deep directory', { kind: 'directory', path: 'deep/'.repeat(800) }],
    ['of a link', { kind: 'symlink', target: 't'.repeat(100) }],
    ['of a long link', { kind: 'symlink', target: 't'.repeat(4000) }],
    ['of a long link that is no text', { kind: 'symlink', path: '\xfe'.repeat(101), target: '\xff'.repeat(4000) }],
    ['of another name', { kind: 'link', path: 'l'.repeat(200), target: 't'.repeat(200) }],
    ['of a FIFO', { kind: 'fifo' }],
    ['of before 1970', { modifiedSeconds: -5 }],
    ['of far from now', { modifiedSeconds: 8 ** 11 }],
  ])('is read %s', (_, changes) => {
    const header = { ...HEADER, ...changes }
    const archive = Buffer.concat([encodeTarHeader(header), end])
    expect(archive.length % 512).toBe(0)
    expect(readTar(archive)).toEqual([{ ...header, fault: null, sparse: null, content: '' }])
    expect(readTar(archive, 7)).toEqual(readTar(archive))
  })

  test('has sizes of 8 GiB and more', () => {
    const sizes = [8 ** 11 - 1, 8 ** 11, 2 ** 50]
    for (const sizeBytes of sizes) {
      const receive: TarSource['receive'] = function* () {
        return encodeTarHeader({ ...HEADER, sizeBytes })
      }
      const reader = createTarReader({ receive, mustPause: () => false })
      expect(reader.next().next().value).toMatchObject({ sizeBytes, path: 'a', fault: null })
    }
  })

  test('is read by another library', async () => {
    const path = `${'ü'.repeat(120)}/n`
    const archive = Buffer.concat([encodeTarHeader({ ...HEADER, path, sizeBytes: 3 }), Buffer.alloc(512, 'abc\0'), end])
    const reader = extract()
    reader.end(archive)
    for await (const entry of reader) {
      expect(entry.header).toMatchObject({
        name: Buffer.from(path, 'latin1').toString(),
        size: 3,
        mode: 0o4755,
        uid: 7,
      })
      entry.resume()
    }
  })
})

describe('an archive that is read', () => {
  test('may come from another library, in pieces of any size', async () => {
    const packer = pack()
    for (let i = 0; i < 40; i++) packer.entry({ name: `${'long/'.repeat(i)}f-${i}` }, 'x'.repeat(i * 61))
    packer.finalize()
    const parts: Buffer[] = []
    for await (const part of packer) parts.push(part as Buffer)
    const archive = Buffer.concat(parts)
    const whole = readTar(archive)
    expect(whole.map(({ content }) => content.length)).toEqual(Array.from({ length: 40 }, (_, i) => i * 61))
    for (const size of [1, 511, 512, 513, 5000]) expect(readTar(archive, size)).toEqual(whole)
  })

  test('has extended headers for the next entry, and global ones for all', () => {
    const entries = readTar(
      tarOf([
        { ...paxOf({ uid: '5', mtime: '12.25' }), flag: 'g' },
        paxOf({ path: 'other', mtime: '-1.5', uid: '' }),
        { name: 'a' },
        { name: 'b' },
      ]),
    )
    expect(entries).toMatchObject([
      { path: 'other', uid: 0, modifiedSeconds: -2, modifiedNanoseconds: 5e8 },
      { path: 'b', uid: 5, modifiedSeconds: 12, modifiedNanoseconds: 25e7 },
    ])
  })

  test('has no content for types without, at any declared size', () => {
    for (const flag of ['1', '2', '3', '4', '5', '6'])
      expect(readTar(tarOf([{ name: 'a', flag, sizeBytes: 5 }, { name: 'b' }])).map(({ path }) => path)).toEqual([
        'a',
        'b',
      ])
    expect(readTar(tarOf([{ name: 'a', flag: '?', body: 'what' }, { name: 'b' }]))).toMatchObject([
      { kind: 'unknown' },
      { path: 'b' },
    ])
  })

  test('has a directory for a file name with a final slash, and its content is skipped', () => {
    expect(readTar(tarOf([{ name: 'a/', body: 'what' }, { name: 'b' }]))).toMatchObject([
      { kind: 'directory' },
      { path: 'b', kind: 'file' },
    ])
  })

  test('has a fault for each entry with wrong fields', () => {
    expect(readFirstOf({ name: 'x', flag: 'x', body: 'no records' }, { name: 'a' }).fault).toContain('damaged')
    expect(readFirstOf({ name: 'x', flag: 'x', body: '99999 path=b\n' }, { name: 'a' }).fault).toContain('damaged')
    expect(readFirstOf(paxOf({ uid: 'root' }), { name: 'a' }).fault).toContain('damaged')
    const large = { name: 'x', flag: 'x', body: Buffer.alloc(1024 * 1024 + 1, 'x') }
    expect(readFirstOf(large, { name: 'a' })).toMatchObject({ path: 'a', fault: expect.stringContaining('1 MiB') })
    expect(readFirstOf({ ...large, flag: 'L' }, { name: 'a' }).fault).toContain('1 MiB')
  })

  test('has names of at most 4,096 bytes in memory', () => {
    const name = (length: number): string => 'n'.repeat(length)
    expect(readFirstOf(paxOf({ path: name(4096) }), { name: 'a' })).toMatchObject({ path: name(4096), fault: null })
    const long = { path: `${name(4096)}~`, fault: 'its name is longer than 4096 bytes' }
    expect(readFirstOf(paxOf({ path: name(4097) }), { name: 'a' })).toMatchObject(long)
    expect(readFirstOf({ name: 'x', flag: 'L', body: name(900_000) }, { name: 'a' })).toMatchObject(long)
    const all = { ...paxOf({ path: name(900_000) }), flag: 'g' }
    expect(readTar(tarOf([all, { name: 'a' }, { name: 'b' }]))).toMatchObject([long, long])
    expect(readFirstOf(paxOf({ linkpath: name(5000) }), { name: 'a', flag: '2' }).target).toBe(`${name(4096)}~`)
    // A truncated number is invalid.
    expect(readFirstOf(paxOf({ uid: '0'.repeat(5000) }), { name: 'a' }).fault).toContain('damaged')
    expect(() => readFirstOf(paxOf({ size: '0'.repeat(5000) }), { name: 'a' })).toThrow('damaged')
  })

  test.each<[string, Buffer, string]>([
    ['nothing', Buffer.alloc(0), 'not a tar'],
    ['a text', Buffer.from('text'), 'not a tar'],
    ['noise', Buffer.alloc(5000, 'noise'), 'not a tar'],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), 'gzip'],
    ['no end', entryOf({ name: 'a' }), 'ends too early'],
    ['half a header', entryOf({ name: 'a' }).subarray(0, 300), 'not a tar'],
    ['half an entry', entryOf({ name: 'a', body: 'x'.repeat(2000) }).subarray(0, 1000), 'ends too early'],
    ['noise behind an entry', Buffer.concat([entryOf({ name: 'a' }), Buffer.alloc(512, 1)]), 'damaged'],
    ['no size', Buffer.concat([entryOf({ name: 'a', sizeBytes: Number.NaN })]), 'damaged'],
    ['a size below nothing', tarOf([paxOf({ size: '-512' }), { name: 'a' }]), 'damaged'],
    ['a size beyond all', tarOf([paxOf({ size: '9'.repeat(30) }), { name: 'a' }]), 'damaged'],
  ])('%s is no archive', (_, bytes, why) => {
    expect(() => readTar(bytes)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(why) }),
    )
    expect(() => readTar(bytes, 3)).toThrow(why)
  })
})
