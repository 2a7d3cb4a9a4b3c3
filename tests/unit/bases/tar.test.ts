import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { extract, pack } from 'tar-stream'
import { encodeTarHeader, type WrittenHeader } from '../../../agent/lib/tar/headers.ts'
import { createTarReader, type TarEntry, type TarSource } from '../../../agent/lib/tar/reader.ts'
import { encodeSparseHeader } from '../../../agent/lib/tar/sparse.ts'
import type { Steps } from '../../../agent/lib/threads/task.ts'
import { entryOf, paxOf, type RawTarEntry, sealed, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { check } from '../../helpers/fairness/check.ts'

type Read = TarEntry & { content: string }

/** Reads an archive that arrives in pieces of `size` bytes. */
function readAll(archive: Uint8Array, size = archive.length, mustPause = () => false): Read[] {
  let at = 0
  // biome-ignore lint/correctness/useYield: it never has to wait
  const hear = function* (): Steps<Uint8Array | null> {
    if (at >= archive.length) return null
    at += size
    return archive.subarray(at - size, at)
  }
  const reader = createTarReader({ receive: hear, mustPause })
  const entries: Read[] = []
  const steps = (function* (): Steps<void> {
    for (let entry = yield* reader.next(); entry !== null; entry = yield* reader.next()) {
      let content = ''
      for (let piece = yield* reader.read(); piece !== null; piece = yield* reader.read())
        content += piece.toString('latin1')
      entries.push({ ...entry, content })
    }
    yield* reader.drain()
  })()
  for (let step = steps.next(); step.done !== true; step = steps.next());
  return entries
}

const readOne = (...raw: RawTarEntry[]): Read => readAll(tarOf(raw))[0] as Read

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
    expect(readAll(archive)).toEqual([{ ...header, fault: null, sparse: null, content: '' }])
    expect(readAll(archive, 7)).toEqual(readAll(archive))
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
    const whole = readAll(archive)
    expect(whole.map(({ content }) => content.length)).toEqual(Array.from({ length: 40 }, (_, i) => i * 61))
    for (const size of [1, 511, 512, 513, 5000]) expect(readAll(archive, size)).toEqual(whole)
  })

  test('has extended headers for the next entry, and global ones for all', () => {
    const entries = readAll(
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
      expect(readAll(tarOf([{ name: 'a', flag, sizeBytes: 5 }, { name: 'b' }])).map(({ path }) => path)).toEqual([
        'a',
        'b',
      ])
    expect(readAll(tarOf([{ name: 'a', flag: '?', body: 'what' }, { name: 'b' }]))).toMatchObject([
      { kind: 'unknown' },
      { path: 'b' },
    ])
  })

  test('has a directory for a file name with a final slash, and its content is skipped', () => {
    expect(readAll(tarOf([{ name: 'a/', body: 'what' }, { name: 'b' }]))).toMatchObject([
      { kind: 'directory' },
      { path: 'b', kind: 'file' },
    ])
  })

  test('has the layout of a sparse file in the old GNU format, whose map goes on in further blocks', () => {
    const more = Buffer.alloc(512)
    more.write('00000200000\x0000000000001\0', 0, 'latin1')
    const header = entryOf({ name: 'sparse', flag: 'S', sizeBytes: 3 })
    header.write('00000010000\x0000000000002\0', 386, 'latin1')
    header[482] = 1
    header.write('00001000000\0', 483, 'latin1')
    const archive = Buffer.concat([sealed(header), more, Buffer.alloc(512, 'abc\0'), tarOf([{ name: 'b' }])])
    const ranges = [
      { start: 4096n, sizeBytes: 2 },
      { start: 65_536n, sizeBytes: 1 },
    ]
    const sparse = { sizeBytes: 262_144n, ranges }
    expect(readAll(archive)).toMatchObject([{ kind: 'file', content: 'abc', fault: null, sparse }, { path: 'b' }])
  })

  test('has a fault for a sparse file whose map does not fit, or of a form that is not unpacked, and the next entry', () => {
    const real = {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.realsize': '9000',
      'GNU.sparse.name': 's',
    }
    const faultOf = (map: string, records: Record<string, string> = real): string | null => {
      const [sparse, next] = readAll(
        tarOf([paxOf(records), { name: 'x', body: `${map.padEnd(512, '\0')}abc` }, { name: 'b' }]),
      )
      expect(next).toMatchObject({ path: 'b', fault: null })
      return sparse?.fault ?? null
    }
    expect(faultOf('1\n4096\n3\n')).toBeNull()
    for (const map of [
      '',
      'one\n',
      '-1\n',
      '2\n4096\n3\n',
      '1\n4096\n4\n',
      '1\n8999\n3\n',
      '2\n4096\n3\n0\n0\n',
      '1\n4e3\n3\n',
    ])
      expect(faultOf(map)).toContain('damaged')
    for (const count of ['65537', '999999', '1000000', '9'.repeat(19)]) expect(faultOf(`${count}\n`)).toContain('65536')
    // Of nothing but a map, a damaged one is no empty one.
    const onlyMap = (map: string): string | null =>
      readOne(paxOf(real), { name: 'x', body: map.padEnd(512, '\0') }).fault
    expect(onlyMap('0\n')).toBeNull()
    for (const map of ['one\n', '\n', '-1\n', '1e3\n', `${'9'.repeat(20)}\n`]) expect(onlyMap(map)).toContain('damaged')
    expect(onlyMap('1234567\n')).toContain('65536')
    expect(faultOf('1\n4096\n3\n', { ...real, 'GNU.sparse.realsize': '9223372036854775808' })).toContain('damaged')
    expect(faultOf('', { ...real, 'GNU.sparse.major': '2' })).toContain('sparse')
    expect(faultOf('', { 'GNU.sparse.offset': '0', 'GNU.sparse.numbytes': '1' })).toContain('sparse')
  })

  test('has a map for the file of its header alone: those of global headers are left out', () => {
    const map = { 'GNU.sparse.map': '4096,3', 'GNU.sparse.size': '9000', 'GNU.sparse.name': 'other' }
    const versioned = { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '9000' }
    for (const records of [map, versioned, { 'GNU.sparse.offset': '0', 'GNU.sparse.numbytes': '1' }]) {
      const entries = readAll(
        tarOf([{ ...paxOf({ ...records, uid: '5' }), flag: 'g' }, { name: 'a', body: 'abc' }, { name: 'b' }]),
      )
      expect(entries).toMatchObject([
        { path: 'a', uid: 5, content: 'abc', fault: null, sparse: null },
        { path: 'b', uid: 5, fault: null, sparse: null },
      ])
    }
    const own = readAll(tarOf([paxOf(map), { name: 'x', body: 'abc' }, { name: 'b', body: 'abc' }]))
    expect(own).toMatchObject([
      { path: 'other', sparse: { sizeBytes: 9000n } },
      { path: 'b', sparse: null },
    ])
  })

  test('pauses within each header and map, however few numbers a slice of time takes', () => {
    const pieces = 8000
    const lines = Array.from({ length: pieces }, (_, index) => [index * 10, 1]).flat()
    const name = { 'GNU.sparse.name': 's' }
    const v1 = { ...name, 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '80000' }
    const map = `${pieces}\n${lines.join('\n')}\n`
    const content = 'x'.repeat(pieces)
    const inRecord = { ...name, 'GNU.sparse.map': lines.join(','), 'GNU.sparse.size': '80000' }
    const body = map.padEnd(Math.ceil(map.length / 512) * 512, '\0') + content
    const many = { ...paxOf({}), body: Buffer.from('6 a=b\n'.repeat(pieces)) }
    for (const [entries, leastPauses] of [
      [[paxOf(inRecord), { name: 'x', body: content }], 2 * pieces],
      [[paxOf(v1), { name: 'x', body }], Math.floor(map.length / 512)],
      [[many, { name: 'x' }], pieces],
    ] as const) {
      let pauses = 0
      const read = readAll(tarOf([...entries]), undefined, () => ++pauses > 0)
      expect(read).toMatchObject([{ fault: null }])
      if (read[0]?.sparse) expect(read[0].sparse.ranges).toHaveLength(pieces)
      expect(pauses).toBeGreaterThanOrEqual(leastPauses)
    }
  })

  test('has the layout of a sparse file as it was written, however long the file is and however it arrives', async () => {
    const anyPiece = fc.record({
      gap: fc.bigInt({ min: 0n, max: 2n ** 45n }),
      sizeBytes: fc.integer({ min: 1, max: 3000 }),
    })
    const anyLayout = fc.record({
      pieces: fc.array(anyPiece, { maxLength: 60 }),
      tail: fc.bigInt({ min: 0n, max: 2n ** 60n }),
      path: fc.constantFrom('a', `${'deep/'.repeat(40)}name`, '\xff'.repeat(120)),
      step: fc.integer({ min: 1, max: 2000 }),
    })
    const property = fc.property(anyLayout, ({ pieces, tail, path, step }) => {
      let end = 0n
      const ranges = pieces.map(({ gap, sizeBytes }) => {
        const start = end + gap
        end = start + BigInt(sizeBytes)
        return { start, sizeBytes }
      })
      const sparse = { sizeBytes: end + tail, ranges }
      const content = ranges.map(({ sizeBytes }, index) => String(index % 10).repeat(sizeBytes)).join('')
      const { bytes, padding } = encodeSparseHeader({ ...HEADER, path }, sparse)
      const archive = Buffer.concat([bytes, Buffer.from(content), Buffer.alloc(padding), tarOf([{ name: 'b' }])])
      expect(readAll(archive, step)).toMatchObject([{ path, content, fault: null, sparse }, { path: 'b' }])
    })
    await check(property, 60)
  })

  test('has a fault for each entry with wrong fields', () => {
    expect(readOne({ name: 'x', flag: 'x', body: 'no records' }, { name: 'a' }).fault).toContain('damaged')
    expect(readOne({ name: 'x', flag: 'x', body: '99999 path=b\n' }, { name: 'a' }).fault).toContain('damaged')
    expect(readOne(paxOf({ uid: 'root' }), { name: 'a' }).fault).toContain('damaged')
    const large = { name: 'x', flag: 'x', body: Buffer.alloc(1024 * 1024 + 1, 'x') }
    expect(readOne(large, { name: 'a' })).toMatchObject({ path: 'a', fault: expect.stringContaining('1 MiB') })
    expect(readOne({ ...large, flag: 'L' }, { name: 'a' }).fault).toContain('1 MiB')
  })

  test('has names of at most 4,096 bytes in memory', () => {
    const name = (length: number): string => 'n'.repeat(length)
    expect(readOne(paxOf({ path: name(4096) }), { name: 'a' })).toMatchObject({ path: name(4096), fault: null })
    const long = { path: `${name(4096)}~`, fault: 'its name is longer than 4096 bytes' }
    expect(readOne(paxOf({ path: name(4097) }), { name: 'a' })).toMatchObject(long)
    expect(readOne({ name: 'x', flag: 'L', body: name(900_000) }, { name: 'a' })).toMatchObject(long)
    const all = { ...paxOf({ path: name(900_000) }), flag: 'g' }
    expect(readAll(tarOf([all, { name: 'a' }, { name: 'b' }]))).toMatchObject([long, long])
    expect(readOne(paxOf({ linkpath: name(5000) }), { name: 'a', flag: '2' }).target).toBe(`${name(4096)}~`)
    // A number that was cut is invalid.
    expect(readOne(paxOf({ uid: '0'.repeat(5000) }), { name: 'a' }).fault).toContain('damaged')
    expect(() => readOne(paxOf({ size: '0'.repeat(5000) }), { name: 'a' })).toThrow('damaged')
  })

  test.each<[string, Buffer, string]>([
    ['nothing', Buffer.alloc(0), 'no tar'],
    ['a text', Buffer.from('text'), 'no tar'],
    ['noise', Buffer.alloc(5000, 'noise'), 'no tar'],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), 'gzip'],
    ['no end', entryOf({ name: 'a' }), 'breaks off'],
    ['half a header', entryOf({ name: 'a' }).subarray(0, 300), 'no tar'],
    ['half an entry', entryOf({ name: 'a', body: 'x'.repeat(2000) }).subarray(0, 1000), 'breaks off'],
    ['noise behind an entry', Buffer.concat([entryOf({ name: 'a' }), Buffer.alloc(512, 1)]), 'damaged'],
    ['no size', Buffer.concat([entryOf({ name: 'a', sizeBytes: Number.NaN })]), 'damaged'],
    ['a size below nothing', tarOf([paxOf({ size: '-512' }), { name: 'a' }]), 'damaged'],
    ['a size beyond all', tarOf([paxOf({ size: '9'.repeat(30) }), { name: 'a' }]), 'damaged'],
  ])('%s is no archive', (_, bytes, why) => {
    expect(() => readAll(bytes)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(why) }),
    )
    expect(() => readAll(bytes, 3)).toThrow(why)
  })
})
