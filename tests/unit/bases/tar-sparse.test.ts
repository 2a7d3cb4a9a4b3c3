import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { WrittenHeader } from '../../../agent/lib/tar/headers.ts'
import { encodeSparseHeader } from '../../../agent/lib/tar/sparse.ts'
import { entryOf, paxOf, sealed, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { readFirstOf, readTar } from '../../helpers/bases/read-tar.ts'
import { check } from '../../helpers/fairness/check.ts'

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

describe('an archive with sparse files that is read', () => {
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
    expect(readTar(archive)).toMatchObject([{ kind: 'file', content: 'abc', fault: null, sparse }, { path: 'b' }])
  })

  test('has a fault for a sparse file whose map does not fit, or of a form that is not unpacked, and the next entry', () => {
    const real = {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.realsize': '9000',
      'GNU.sparse.name': 's',
    }
    const faultOf = (map: string, records: Record<string, string> = real): string | null => {
      const [sparse, next] = readTar(
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
    // A damaged map without data after it does not count as an empty file.
    const onlyMap = (map: string): string | null =>
      readFirstOf(paxOf(real), { name: 'x', body: map.padEnd(512, '\0') }).fault
    expect(onlyMap('0\n')).toBeNull()
    for (const map of ['one\n', '\n', '-1\n', '1e3\n', `${'9'.repeat(20)}\n`]) expect(onlyMap(map)).toContain('damaged')
    expect(onlyMap('1234567\n')).toContain('65536')
    expect(faultOf('1\n4096\n3\n', { ...real, 'GNU.sparse.realsize': '9223372036854775808' })).toContain('damaged')
    expect(faultOf('', { ...real, 'GNU.sparse.major': '2' })).toContain('sparse')
    // The length of the file is missing.
    expect(faultOf('', { 'GNU.sparse.offset': '0', 'GNU.sparse.numbytes': '1' })).toContain('damaged')
  })

  test('has the layout of a sparse file in version 0.0, which has a record of each number', () => {
    const places = ['26 GNU.sparse.offset=4096\n', '25 GNU.sparse.numbytes=2\n', '26 GNU.sparse.offset=8192\n']
    const records = [...places, '25 GNU.sparse.numbytes=1\n', '24 GNU.sparse.size=9000\n']
    const read = (each: readonly string[]) =>
      readTar(tarOf([{ ...paxOf({}), body: Buffer.from(each.join('')) }, { name: 'a', body: 'abc' }, { name: 'b' }]))
    const ranges = [
      { start: 4096n, sizeBytes: 2 },
      { start: 8192n, sizeBytes: 1 },
    ]
    const whole = { path: 'a', content: 'abc', fault: null, sparse: { sizeBytes: 9000n, ranges } }
    expect(read(records)).toMatchObject([whole, { path: 'b', sparse: null }])
    expect(read(records.slice(1))[0]?.fault).toContain('damaged')
  })

  test('has a map for the file of its header alone: those of global headers are left out', () => {
    const map = { 'GNU.sparse.map': '4096,3', 'GNU.sparse.size': '9000', 'GNU.sparse.name': 'other' }
    const versioned = { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '9000' }
    for (const records of [map, versioned, { 'GNU.sparse.offset': '0', 'GNU.sparse.numbytes': '1' }]) {
      const entries = readTar(
        tarOf([{ ...paxOf({ ...records, uid: '5' }), flag: 'g' }, { name: 'a', body: 'abc' }, { name: 'b' }]),
      )
      expect(entries).toMatchObject([
        { path: 'a', uid: 5, content: 'abc', fault: null, sparse: null },
        { path: 'b', uid: 5, fault: null, sparse: null },
      ])
    }
    const own = readTar(tarOf([paxOf(map), { name: 'x', body: 'abc' }, { name: 'b', body: 'abc' }]))
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
      const read = readTar(tarOf([...entries]), undefined, () => ++pauses > 0)
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
      expect(readTar(archive, step)).toMatchObject([{ path, content, fault: null, sparse }, { path: 'b' }])
    })
    await check(property, 60)
  })
})
