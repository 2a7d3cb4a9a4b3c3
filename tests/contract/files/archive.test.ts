import { execFileSync } from 'node:child_process'
import {
  chownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type ArchiveLab,
  listEntries,
  openArchiveLab,
  packOf,
  refusedIn,
  tar,
  unpackTo,
  type View,
} from '../../helpers/bases/archive-lab.ts'
import { execute } from '../../helpers/boxes/oci-lab.ts'
import { draw } from '../../helpers/sample.ts'

describe('archives', () => {
  let lab: ArchiveLab
  beforeAll(async () => {
    lab = await openArchiveLab()
  })
  afterAll(async () => {
    await lab.close()
  })

  describe.each(draw<View>(['runs', 'stopped'], 1))('of a box that %s', (view) => {
    test('a tree that tar packed is unpacked as tar unpacks it', async () => {
      const source = lab.newDirectory()
      fillVaried(source)
      const { path, onHost } = lab.newInBox()
      for (const format of ['gnu', 'pax', 'posix', 'ustar', 'oldgnu']) {
        const isShort = format === 'ustar'
        const args = isShort ? ['--exclude=*long*', '--exclude=*deep*'] : []
        const archive = await tar(source, [`--format=${format}`, ...args, '-cf', '-', '.'])
        const into = lab.newInBox()
        const report = await unpackTo(lab, view, { path: into.path, archive, pieceBytes: 777 })
        expect(refusedIn(report)).toEqual({ './fifo': 'it is a FIFO' })
        const theirs = lab.newDirectory()
        await tar(theirs, ['-xpf', '-'], archive)
        rmSync(`${theirs}/fifo`)
        lutimesSync(theirs, 0, 0)
        expect(listEntries(into.onHost)).toEqual(listEntries(theirs))
        expect(report.entries).toBe(listEntries(theirs).length - 1)
        execFileSync('diff', ['-r', '--no-dereference', theirs, into.onHost])
      }
      expect([path, readdirSync(onHost)]).toEqual([path, []])
    })

    test('a tree is packed so that tar unpacks it as it was', async () => {
      const { path, onHost } = lab.newInBox()
      fillVaried(onHost)
      const into = lab.newDirectory()
      await tar(into, ['-xpf', '-'], await packOf(lab, view, path))
      expect(listEntries(into)).toEqual(listEntries(onHost))
      execFileSync('diff', ['-r', '--no-dereference', '--exclude=fifo', into, onHost])
    })

    test('a Debian-like tree of 5,000 files is unpacked and packed unchanged', async () => {
      const source = lab.newDirectory()
      fillMany(source)
      const archive = await tar(source, ['-cf', '-', '.'])
      const { path, onHost } = lab.newInBox()
      expect(await unpackTo(lab, view, { path, archive })).toMatchObject({ refusedCount: 0 })
      expect(listEntries(onHost)).toEqual(listEntries(source))
      const into = lab.newDirectory()
      await tar(into, ['-xpf', '-'], await packOf(lab, view, path))
      expect(listEntries(into)).toEqual(listEntries(source))
      rmSync(onHost, { recursive: true })
    })

    test('a file alone is an archive of it', async () => {
      const { path, onHost } = lab.newInBox()
      writeFileSync(`${onHost}/one`, 'alone')
      const archive = await packOf(lab, view, `${path}/one`)
      expect(String(await tar(lab.newDirectory(), ['-tf', '-'], archive))).toBe('one\n')
      expect(String(await tar(lab.newDirectory(), ['-xOf', '-'], archive))).toBe('alone')
    })

    test('names are in order, and those that are not UTF-8 stay as they are', async () => {
      const { path, onHost } = lab.newInBox()
      const odd = Buffer.from(`${onHost}/\xff\n\x01`, 'latin1')
      const long = Buffer.from(`${onHost}/${'\xfe'.repeat(200)}`, 'latin1')
      for (const name of [odd, long, 'b', 'a', 'ä'])
        writeFileSync(typeof name === 'string' ? `${onHost}/${name}` : name, 'x')
      execFileSync('find', [onHost, '-exec', 'touch', '-d', '@1600000000', '{}', '+'])
      const archive = await packOf(lab, view, path)
      const names = (await tar(lab.newDirectory(), ['--quoting-style=escape', '-tf', '-'], archive))
        .toString('latin1')
        .trim()
        .split('\n')
      expect(names).toEqual(['a', 'b', '\\303\\244', '\\376'.repeat(200), '\\377\\n\\001'])
      const into = lab.newInBox()
      await unpackTo(lab, view, { path: into.path, archive })
      expect(listEntries(into.onHost)).toEqual(listEntries(onHost))
    })

    test('volumes are entered, mounts of the kernel are not', async () => {
      writeFileSync(`${lab.volumePath}/inside`, 'of the volume')
      const listed = String(await tar(lab.newDirectory(), ['-tf', '-'], await packOf(lab, view, '/'))).split('\n')
      expect(listed).toEqual(
        expect.arrayContaining(['srv/data/inside', 'bin/busybox', 'proc/', 'sys/', 'dev/', 'run/']),
      )
      expect(listed.filter((name) => /^(proc|sys|dev|run)\/./.test(name))).toEqual([])
    })

    test('an archive is unpacked into a volume too', async () => {
      const source = lab.newDirectory()
      mkdirSync(`${source}/srv/data/${view}`, { recursive: true })
      writeFileSync(`${source}/srv/data/${view}/f`, 'through')
      const archive = await tar(source, ['-cf', '-', '.'])
      expect(await unpackTo(lab, view, { path: '/', archive })).toMatchObject({ refusedCount: 0 })
      expect(readFileSync(`${lab.volumePath}/${view}/f`, 'utf8')).toBe('through')
    })

    test('files replace files and links, directories merge, and the directory itself stays as it is', async () => {
      const { path, onHost } = lab.newInBox()
      mkdirSync(`${onHost}/merged`)
      writeFileSync(`${onHost}/merged/old`, 'old')
      writeFileSync(`${onHost}/file`, 'old')
      symlinkSync('merged/old', `${onHost}/link`)
      mkdirSync(`${onHost}/taken`)
      const before = statSync(onHost)
      const source = lab.newDirectory()
      mkdirSync(`${source}/merged`, { mode: 0o711 })
      for (const name of ['merged/new', 'file', 'link', 'taken']) writeFileSync(`${source}/${name}`, 'new')
      linkSync(`${source}/file`, `${source}/same`)
      const report = await unpackTo(lab, view, { path, archive: await tar(source, ['--mode=u+rwx', '-cf', '-', '.']) })
      expect(refusedIn(report)).toEqual({ './taken': 'something of another kind has its name' })
      for (const name of ['merged/new', 'file', 'link', 'same'])
        expect(readFileSync(`${onHost}/${name}`, 'utf8')).toBe('new')
      expect(readFileSync(`${onHost}/merged/old`, 'utf8')).toBe('old')
      expect(statSync(`${onHost}/merged`).mode & 0o777).toBe(0o711)
      expect([statSync(onHost).mode, statSync(onHost).uid]).toEqual([before.mode, before.uid])
      await unpackTo(lab, view, { path, archive: await tar(source, ['-cf', '-', '.']) })
      expect(readdirSync(onHost).sort()).toEqual(['file', 'link', 'merged', 'same', 'taken'])
      expect(statSync(`${onHost}/same`).nlink).toBe(2)
    })

    test('an invalid or truncated tar is an error; earlier entries stay, and nothing else', async () => {
      const source = lab.newDirectory()
      writeFileSync(`${source}/a`, 'whole')
      writeFileSync(`${source}/b`, Buffer.alloc(700_000, 1))
      const archive = await tar(source, ['-cf', '-', 'a', 'b'])
      const { path, onHost } = lab.newInBox()
      const fails = async (bytes: Uint8Array): Promise<string> => {
        const error = await unpackTo(lab, view, { path, archive: bytes }).catch((cause: unknown) => cause)
        expect(error).toMatchObject({ code: 'invalid_request' })
        return (error as Error).message
      }
      expect(await fails(Buffer.from('hello'))).toContain('not a tar')
      const descriptors = readdirSync('/proc/self/fd').length
      expect(await fails(gzipSync(archive))).toContain('gzip')
      expect(await fails(gzipSync('x'))).toContain('gzip')
      expect(await fails(Buffer.alloc(0))).toContain('not a tar')
      expect(readdirSync(onHost)).toEqual([])
      expect(await fails(archive.subarray(0, 500_000))).toContain('ends too early')
      expect(readdirSync(onHost)).toEqual(['a'])
      const damaged = Buffer.from(archive)
      damaged.fill(0x55, 1024, 1536)
      expect(await fails(damaged)).toContain('damaged')
      expect(readdirSync(onHost)).toEqual(['a'])
      await expect(lab.files.unpack(lab.places[view], Buffer.from(path), breaking(archive))).rejects.toThrow(
        'the client left',
      )
      expect(readdirSync(onHost)).toEqual(['a'])
      expect(readdirSync('/proc/self/fd').length).toBe(descriptors)
    })

    test('an invalid path is refused before anything is read', async () => {
      await expect(packOf(lab, view, '/none')).rejects.toMatchObject({ code: 'file_not_found' })
      await expect(packOf(lab, view, '/etc/passwd/x')).rejects.toMatchObject({ code: 'not_a_directory' })
      if (view === 'runs') await expect(packOf(lab, view, '/proc')).rejects.toMatchObject({ code: 'path_invalid' })
      const unread = (async function* (): AsyncGenerator<Uint8Array> {
        throw new Error('it was read')
      })()
      const into = (path: string) => lab.files.unpack(lab.places[view], Buffer.from(path), unread)
      await expect(into('/none')).rejects.toMatchObject({ code: 'file_not_found' })
      await expect(into('/etc/passwd')).rejects.toMatchObject({ code: 'not_a_directory' })
    })

    test('a full disk is reported as such', async () => {
      const { path, onHost } = lab.newInBox()
      const source = lab.newDirectory()
      execFileSync('dd', ['if=/dev/urandom', `of=${source}/big`, 'bs=1M', 'count=80', 'status=none'])
      const archive = await tar(source, ['-cf', '-', 'big'])
      await expect(unpackTo(lab, view, { path, archive })).rejects.toMatchObject({ code: 'storage_full' })
      expect(readdirSync(onHost)).toEqual([])
    })

    test('packing ends when the reader leaves', async () => {
      const { path, onHost } = lab.newInBox()
      truncateSync((writeFileSync(`${onHost}/large`, ''), `${onHost}/large`), 3 * 1024 ** 3)
      const before = readdirSync('/proc/self/fd').length
      for await (const chunk of await lab.files.pack(lab.places[view], Buffer.from(path))) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
      await lab.files.stat(lab.places[view], Buffer.from(path))
      expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before)
      rmSync(`${onHost}/large`)
    })
  })

  test('unpacked files belong to the ids of the box', async () => {
    const source = lab.newDirectory()
    writeFileSync(`${source}/f`, 'x', { mode: 0o4755 })
    chownSync(`${source}/f`, 1000, 65_534)
    execFileSync('chmod', ['4755', `${source}/f`])
    const { path } = lab.newInBox()
    await unpackTo(lab, 'runs', { path, archive: await tar(source, ['-cf', '-', '.']) })
    const { stdout } = await execute(lab.volumes.lab.runtime, 'box_main', `stat -c '%u:%g %a' ${path}/f`)
    expect(stdout).toBe('1000:65534 4755\n')
  })
})

/** Makes one of each kind of entry that a tree can hold, with times in whole seconds. */
function fillVaried(path: string): void {
  const deep = `${path}/deep${'/and-deeper'.repeat(30)}`
  for (const directory of ['sub/in', 'empty', 'ro']) mkdirSync(`${path}/${directory}`, { recursive: true })
  mkdirSync(deep, { recursive: true })
  writeFileSync(`${path}/empty.txt`, '')
  writeFileSync(`${path}/sub/exact`, Buffer.alloc(512, 'e'))
  writeFileSync(`${path}/sub/large`, Buffer.alloc(1_300_001, 'l'))
  writeFileSync(`${deep}/f`, 'deep')
  writeFileSync(`${path}/${'long'.repeat(60)}`, 'long')
  writeFileSync(`${path}/ümläut`, 'text')
  writeFileSync(`${path}/setuid`, '#!')
  writeFileSync(`${path}/ro/f`, 'in a directory that may not be written')
  linkSync(`${path}/sub/large`, `${path}/sub/same`)
  linkSync(`${path}/${'long'.repeat(60)}`, `${path}/to-long`)
  symlinkSync('sub/large', `${path}/link`)
  symlinkSync(`sub/${'x/../'.repeat(60)}large`, `${path}/long-link`)
  symlinkSync('nowhere', `${path}/dangling`)
  chownSync(`${path}/sub/exact`, 1000, 65_534)
  execFileSync('mkfifo', [`${path}/fifo`])
  execFileSync('chown', ['-h', '7:8', `${path}/link`])
  execFileSync('chmod', ['6755', `${path}/setuid`])
  execFileSync('chmod', ['1777', `${path}/empty`])
  execFileSync('chmod', ['0555', `${path}/ro`])
  setTimes(path)
}

function fillMany(path: string): void {
  for (let i = 0; i < 5000; i++) {
    const directory = `${path}/usr/share/package-${i % 97}/part-${i % 7}`
    if (i < 1000) mkdirSync(directory, { recursive: true })
    writeFileSync(`${directory}/file-number-${i}`, `${i}`.repeat(i % 400), { mode: i % 3 === 0 ? 0o755 : 0o644 })
    if (i % 20 === 0) symlinkSync(`file-number-${i}`, `${directory}/link-${i}`)
  }
  setTimes(path)
}

function setTimes(path: string): void {
  let at = 1_600_000_000
  const touch = (entry: string): void => lutimesSync(entry, at, at++)
  const visit = (directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) visit(`${directory}/${entry.name}`)
      else touch(`${directory}/${entry.name}`)
    }
    touch(directory)
  }
  visit(path)
  utimesSync(`${path}`, at, at)
}

async function* breaking(archive: Buffer): AsyncGenerator<Uint8Array> {
  yield archive.subarray(0, 400_000)
  throw new Error('the client left')
}
