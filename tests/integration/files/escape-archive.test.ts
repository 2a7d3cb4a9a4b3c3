import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type ArchiveLab,
  openArchiveLab,
  packOf,
  refusedIn,
  tar,
  unpackTo,
  type View,
} from '../../helpers/bases/archive-lab.ts'
import { paxOf, type RawTarEntry, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { execute } from '../../helpers/boxes/oci-lab.ts'

describe('hostile archives', () => {
  let lab: ArchiveLab
  let outside: string
  beforeAll(async () => {
    lab = await openArchiveLab()
    // On the host. Links in the box point to it.
    outside = mkdtempSync(`${tmpdir()}/boxyard-outside-`)
    writeFileSync(`${outside}/secret`, 'of the host')
    writeFileSync(`${lab.rootPath}/etc/kept`, 'kept')
  })
  afterAll(async () => {
    await lab.close()
    rmSync(outside, { recursive: true, force: true })
  })
  let count = 0
  const newInBox = (): { path: string; onHost: string } => {
    const path = `/root/${count++}`
    mkdirSync(`${lab.rootPath}${path}`)
    return { path, onHost: `${lab.rootPath}${path}` }
  }

  describe.each<View>(['runs', 'stopped'])('into a box that %s', (view) => {
    const unpackIn = async (path: string, entries: readonly RawTarEntry[]): Promise<Record<string, string>> =>
      refusedIn(await unpackTo(lab, view, { path, archive: tarOf(entries) }))

    test('names that lead out or are invalid are refused, and the rest is unpacked', async () => {
      const { path, onHost } = newInBox()
      const long = { body: 'x', name: 'cut' }
      const refused = await unpackIn(path, [
        { name: 'good' },
        { name: '../out' },
        { name: 'a/../../out' },
        { name: 'a/..' },
        { name: '/etc/abs' },
        { name: '' },
        { name: '././' },
        { name: '.', flag: '0' },
        { name: 'out', prefix: '../..' },
        paxOf({ path: 'zero\0byte' }),
        long,
        paxOf({ path: '../by-pax' }),
        long,
        paxOf({ path: 'n'.repeat(256) }),
        long,
        paxOf({ path: 'deep/'.repeat(10_000) }),
        long,
        { name: '././@LongLink', flag: 'L', body: `../${'x'.repeat(1_000_000)}` },
        long,
        { name: '././@LongLink', flag: 'L', body: 'x'.repeat(2_000_000) },
        long,
        { name: 'also/good', body: 'yes' },
      ])
      expect(refused).toEqual({
        '../out': 'its name has a ".." in it',
        'a/../../out': 'its name has a ".." in it',
        'a/..': 'its name has a ".." in it',
        '/etc/abs': 'its name is absolute',
        '': 'it has no name',
        '.': 'it has the name of the directory itself',
        '../../out': 'its name has a ".." in it',
        'zero\0byte': 'its name has a zero byte',
        '../by-pax': 'its name has a ".." in it',
        ['n'.repeat(256)]: 'a name in it is longer than 255 bytes',
        ['deep/'.repeat(205).slice(0, 1024)]: 'its name is longer than 4095 bytes',
        [`../${'x'.repeat(1021)}`]: 'its name is longer than 4095 bytes',
        cut: 'its metadata in the archive is larger than 1 MiB',
      })
      expect(readdirSync(onHost).sort()).toEqual(['also', 'good'])
      expect(readFileSync(`${onHost}/also/good`, 'utf8')).toBe('yes')
      expect(readdirSync(`${lab.rootPath}/root`)).not.toContain('out')
    })

    test('links are made as they are, also those that lead out, and no link is followed', async () => {
      const { path, onHost } = newInBox()
      symlinkSync('/etc', `${onHost}/planted`)
      symlinkSync('/etc/kept', `${onHost}/kept`)
      symlinkSync(outside, `${onHost}/host`)
      const link = (name: string, target: string): RawTarEntry => ({ name, flag: '2', target })
      const refused = await unpackIn(path, [
        link('etc', '/etc'),
        link('up', '..'),
        link('deep/up', '../../etc'),
        link('through', 'x/../../etc'),
        link('none', ''),
        link('absolute', `${path}/sub`),
        link('nearly', `${path}x`),
        link('inside', 'sub'),
        link('sub-up', 'sub/..'),
        { name: 'sub/f', body: 'f' },
        { name: 'inside/g', body: 'g' },
        { name: 'absolute/g', body: 'g' },
        { name: 'etc/kept', body: 'overwritten' },
        { name: 'up/out', body: 'overwritten' },
        { name: 'deep/up/kept', body: 'overwritten' },
        { name: 'planted/kept', body: 'overwritten' },
        { name: 'planted/new/', flag: '5' },
        { name: 'planted/', flag: '5', mode: 0o777 },
        { name: 'host/secret', body: 'overwritten' },
        { name: 'kept', body: 'in place of the link' },
      ])
      expect(refused).toEqual({
        'etc/kept': IN_THE_WAY,
        'up/out': IN_THE_WAY,
        'deep/up/kept': IN_THE_WAY,
        none: 'the link leads nowhere',
        'inside/g': IN_THE_WAY,
        'absolute/g': IN_THE_WAY,
        'planted/kept': IN_THE_WAY,
        'planted/new/': IN_THE_WAY,
        'planted/': IN_THE_WAY,
        'host/secret': IN_THE_WAY,
      })
      const names = ['etc', 'up', 'deep/up', 'through', 'absolute', 'nearly', 'sub-up']
      expect(names.map((name) => readlinkSync(`${onHost}/${name}`))).toEqual([
        ...['/etc', '..', '../../etc', 'x/../../etc', `${path}/sub`, `${path}x`, 'sub/..'],
      ])
      expect(readFileSync(`${lab.rootPath}/etc/kept`, 'utf8')).toBe('kept')
      expect(lstatSync(`${lab.rootPath}/etc`).mode & 0o777).toBe(0o755)
      expect(readFileSync(`${onHost}/kept`, 'utf8')).toBe('in place of the link')
      expect(readdirSync(outside)).toEqual(['secret'])
    })

    test('hard links lead only to files below the directory, and through no link', async () => {
      const { path, onHost } = newInBox()
      symlinkSync('/etc', `${onHost}/planted`)
      const link = (name: string, target: string): RawTarEntry => ({ name, flag: '1', target })
      const refused = await unpackIn(path, [
        { name: 'f', body: 'f' },
        { name: 'd/', flag: '5' },
        link('good', './f'),
        link('up', '../../etc/kept'),
        link('absolute', '/etc/kept'),
        link('planted-kept', 'planted/kept'),
        link('directory', 'd'),
        link('itself', '.'),
        link('none', 'nothing'),
        link('nothing/none', 'nothing/either'),
        link('f', 'f'),
      ])
      const notBelow = 'what it links to is not below the directory'
      expect(refused).toEqual({
        up: notBelow,
        absolute: notBelow,
        'planted-kept': IN_THE_WAY,
        directory: 'it links to what is neither a file nor a link',
        itself: 'it links to the directory itself',
        none: 'what it needs is not there',
        'nothing/none': 'what it needs is not there',
      })
      expect(lstatSync(`${onHost}/f`).nlink).toBe(2)
      expect(readdirSync(onHost).sort()).toEqual(['d', 'f', 'good', 'planted'])
      expect(lstatSync(`${lab.rootPath}/etc/kept`).nlink).toBe(1)
    })

    test('devices, FIFOs, unknown kinds and foreign ids are refused', async () => {
      const { path, onHost } = newInBox()
      const refused = await unpackIn(path, [
        { name: 'character', flag: '3' },
        { name: 'block', flag: '4' },
        { name: 'fifo', flag: '6' },
        { name: 'what', flag: '?', body: 'content' },
        { name: 'contiguous', flag: '7', body: 'a file' },
        { name: 'foreign', uid: 65_535 },
        paxOf({ uid: '4294967295' }),
        { name: 'none' },
        paxOf({ gid: '-1' }),
        { name: 'negative' },
      ])
      const foreign = 'its owner or group is none of 0 to 65534'
      expect(refused).toEqual({
        character: 'it is a device',
        block: 'it is a device',
        fifo: 'it is a FIFO',
        what: 'it is of a kind that is not unpacked',
        foreign,
        none: foreign,
        negative: foreign,
      })
      expect(readdirSync(onHost)).toEqual(['contiguous'])
    })

    test('an endless archive takes bounded memory and has a bounded report', async () => {
      const { path, onHost } = newInBox()
      const header = tarOf([{ name: 'x', flag: 'x', sizeBytes: 4 * 1024 ** 3 - 512 }]).subarray(0, 512)
      const piece = Buffer.alloc(1024 ** 2, 'x')
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        yield header
        for (let i = 0; i < 1000; i++) yield piece
      }
      const before = process.memoryUsage().rss
      const into = Buffer.from(path)
      await expect(lab.files.unpack(lab.places[view], into, endless())).rejects.toThrow('ends too early')
      // The archive has 1 GiB. The process does not return freed memory to the system at once.
      expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 ** 2)
      const bad = tarOf([{ name: '../out' }]).subarray(0, 512)
      const many = async function* (): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 200; i++) yield Buffer.concat(Array.from({ length: 1000 }, () => bad))
        yield Buffer.alloc(1024)
      }
      const report = await lab.files.unpack(lab.places[view], into, many())
      expect([report.entries, report.refused.length, report.refusedCount]).toEqual([0, 1000, 200_000])
      expect(readdirSync(onHost)).toEqual([])
    })

    test('a deep tree is unpacked, and packed down to 256 levels', async () => {
      const { path, onHost } = newInBox()
      expect(await unpackIn(path, [paxOf({ path: `${'d/'.repeat(255)}f` }), { name: 'f', body: 'deep' }])).toEqual({})
      const listed = String(await tar(tmpdir(), ['-tf', '-'], await packOf(lab, view, path)))
      expect(listed.trim().split('\n').at(-1)).toBe(`${'d/'.repeat(255)}f`)
      expect(await unpackIn(path, [paxOf({ path: 'd/'.repeat(256) }), { name: 'd/', flag: '5' }])).toEqual({})
      await expect(packOf(lab, view, path)).rejects.toMatchObject({ code: 'path_invalid' })
      expect(await unpackIn(path, [paxOf({ path: `${'d/'.repeat(1500)}f` }), { name: 'f', body: 'deep' }])).toEqual({})
      await expect(packOf(lab, view, path)).rejects.toMatchObject({ code: 'path_invalid' })
      rmSync(onHost, { recursive: true })
    })
  })

  test('system mounts of a running box stay', async () => {
    const shown = async (): Promise<string> => {
      const command = 'cat /etc/machine-id; grep -c /etc/machine-id /proc/mounts; stat -c %a /proc /sys /dev'
      return (await execute(lab.volumes.lab.runtime, 'box_main', command)).stdout
    }
    const before = await shown()
    const archive = tarOf([
      { name: 'etc/machine-id', body: 'mine' },
      { name: 'etc/machine-id', flag: '2', target: 'kept' },
      { name: 'proc/', flag: '5', mode: 0o700 },
      { name: 'sys/', flag: '5', mode: 0o700 },
      { name: 'proc/new', body: 'x' },
      { name: 'sys/kernel/new', body: 'x' },
      { name: 'dev/null', body: 'x' },
    ])
    const report = await unpackTo(lab, 'runs', { path: '/', archive })
    expect([report.entries, report.refusedCount]).toEqual([0, 7])
    expect(await shown()).toBe(before)
  })
})

const IN_THE_WAY = 'something of another kind is in the way, or a link'
