import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { FileFacts } from '../../../agent/ports/files/files.ts'
import { describeTree, type Past, takePast } from '../../helpers/boxes/past-files.ts'
import { accessList, attributesOf, capabilities, setAttributes } from '../../helpers/files/attributes.ts'
import { type BoxFiles, type FileBox, openFileBox } from '../../helpers/files/lab.ts'
import { draw } from '../../helpers/sample.ts'

const MIB = 1024 * 1024
const VOLUMES = { '/srv/data': 'vol_data', '/srv/fixed': 'vol_fixed:ro' }

describe.each(draw(['running', 'stopped'], 1))('a restore of a path into a %s box', (view) => {
  let lab: FileBox
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileBox(view, VOLUMES)
    box = lab.box
  })

  afterAll(() => lab.close())

  const take = (withData = false): Promise<Past> => takePast(lab, withData ? VOLUMES : {})
  const restore = (past: Past, path: string | Uint8Array): Promise<FileFacts> =>
    lab.files.restore(box.place, past.place, { path: Buffer.from(path), temporaryName: '.boxyard-passing' })
  const hidden = (): string[] =>
    fs.readdirSync(box.place.rootPath, { recursive: true, encoding: 'utf8' }).filter((name) => /\.boxyard/.test(name))
  const describeAll = (path: string): Record<string, Record<string, string>> =>
    Object.fromEntries(
      ['.', ...fs.readdirSync(lab.disk(path))].map((name) => [name, attributesOf(lab.disk(`${path}/${name}`))]),
    )
  const put = (path: string, text: string | Uint8Array): void => {
    fs.mkdirSync(lab.disk(path.slice(0, path.lastIndexOf('/'))), { recursive: true })
    fs.writeFileSync(lab.disk(path), text)
  }

  test('restores a file with its bytes, owner, mode and time, sharing its blocks', async () => {
    const bytes = randomBytes(20 * MIB)
    put('/file/large', bytes)
    fs.chownSync(lab.disk('/file/large'), 1000, 29)
    fs.chmodSync(lab.disk('/file/large'), 0o4750)
    fs.utimesSync(lab.disk('/file/large'), 1, 1_600_000_000.25)
    const past = await take()
    fs.rmSync(lab.disk('/file/large'))
    put('/file/large', 'other')
    const before = await lab.volumes.pool.usedBytes('sub_box_main')
    const facts = await restore(past, '/file/large')
    const told = {
      kind: 'file',
      sizeBytes: bytes.length,
      mode: 0o4750,
      uid: 1000,
      gid: 29,
      modifiedAt: 1_600_000_000_250,
    }
    expect(facts).toMatchObject(told)
    expect(await lab.files.stat(box.place, Buffer.from('/file/large'))).toEqual(facts)
    expect(fs.readFileSync(lab.disk('/file/large')).equals(bytes)).toBe(true)
    expect((await lab.volumes.pool.usedBytes('sub_box_main')) - before).toBeLessThan(MIB)
    expect(hidden()).toEqual([])
    await past.drop()
  })

  test('restores a directory with its whole content, and nothing else', async () => {
    const home = '/tree'
    put(`${home}/kept`, 'kept')
    put(`${home}/a/b/c/deep`, 'deep')
    put(`${home}/empty`, '')
    fs.mkdirSync(lab.disk(`${home}/hollow`), 0o1777)
    fs.linkSync(lab.disk(`${home}/kept`), lab.disk(`${home}/a/other-name`))
    for (const [target, name] of [
      ['../a/b', 'link'],
      ['/nowhere', 'a/dangling'],
    ] as const)
      fs.symlinkSync(target, lab.disk(`${home}/${name}`))
    fs.lchownSync(lab.disk(`${home}/link`), 7, 8)
    execFileSync('mkfifo', ['-m', '620', lab.disk(`${home}/fifo`)])
    await new Promise<void>((resolve) => {
      const server = net.createServer().listen(lab.disk(`${home}/a/socket`), () => server.close(() => resolve()))
    })
    fs.writeFileSync(Buffer.from(`${lab.disk(home)}/\xff\n`, 'latin1'), 'odd')
    execFileSync('truncate', ['-s', '200M', lab.disk(`${home}/sparse`)])
    fs.appendFileSync(lab.disk(`${home}/sparse`), 'end')
    for (let index = 0; index < 700; index++) put(`${home}/many/${index}`, String(index))
    for (const name of ['a', 'a/b', 'kept', 'many/7']) fs.chownSync(lab.disk(`${home}/${name}`), 1000, 1001)
    fs.chmodSync(lab.disk(home), 0o2755)
    fs.utimesSync(lab.disk(`${home}/a`), 5, 5)
    fs.utimesSync(lab.disk(home), 9, 9)
    const past = await take()
    const then = describeTree(lab.disk(home))
    expect(then.length).toBeGreaterThan(700)
    fs.rmSync(lab.disk(`${home}/a`), { recursive: true })
    put(`${home}/a`, 'a file by now')
    put(`${home}/new/file`, 'new')
    put(`${home}/kept`, 'changed')
    fs.chmodSync(lab.disk(home), 0o700)
    expect(await restore(past, home)).toMatchObject({ kind: 'directory', mode: 0o2755 })
    expect(describeTree(lab.disk(home))).toEqual(then)
    expect(hidden()).toEqual([])
    await past.drop()
  })

  test('restores a file of an exabyte with the data between its holes', async () => {
    put('/exa/file', 'begin')
    execFileSync('truncate', ['-s', '1E', lab.disk('/exa/file')])
    const fd = fs.openSync(lab.disk('/exa/file'), 'r+')
    fs.writeSync(fd, 'middle', 2 ** 50)
    fs.closeSync(fd)
    const past = await take()
    fs.truncateSync(lab.disk('/exa/file'), 0)
    expect(await restore(past, '/exa/file')).toMatchObject({ sizeBytes: 2 ** 60 })
    expect(await box.read('/exa/file', { start: 0, end: 6 })).toBe('begin\0')
    expect(await box.read('/exa/file', { start: 2 ** 50 - 1, end: 2 ** 50 + 7 })).toBe('\0middle\0')
    await past.drop()
  })

  test('restores attributes and access lists in spite of defaults of the parent', async () => {
    put('/marks/in/file', 'x')
    const list = (user: number): Buffer => accessList([1, 6, -1], [2, 4, user], [4, 4, -1], [16, 6, -1], [32, 0, -1])
    execFileSync('mkfifo', [lab.disk('/marks/in/fifo')])
    setAttributes(lab.disk('/marks/in/file'), { 'user.note': Buffer.from('noted') })
    for (const name of ['file', 'fifo'])
      setAttributes(lab.disk(`/marks/in/${name}`), { 'system.posix_acl_access': list(1000) })
    const then = describeAll('/marks/in')
    const past = await take()
    put('/marks/in/file', 'y')
    setAttributes(lab.disk('/marks/in/file'), { 'user.note': Buffer.from('other') })
    setAttributes(lab.disk('/marks'), { 'system.posix_acl_default': list(1001) })
    await restore(past, '/marks/in')
    expect(describeAll('/marks/in')).toEqual(then)
    await past.drop()
  })

  test('restores programs with capabilities, also of a user namespace in the box', async () => {
    const inner = { '/caps/bin/plain': null, '/caps/bin/nested': 1000 }
    for (const [path, root] of Object.entries(inner)) {
      put(path, 'program')
      setAttributes(lab.disk(path), { 'security.capability': capabilities(1 << 13, root) })
    }
    setAttributes(lab.disk('/caps/bin'), { 'user.note': Buffer.from('noted') })
    const then = describeAll('/caps/bin')
    expect(Object.keys(then['plain'] ?? {})).toEqual(['security.capability'])
    const past = await take()
    for (const path of ['/caps/bin/plain', '/caps/bin/nested', '/caps/bin']) {
      put('/caps/bin/plain', 'changed')
      await restore(past, path)
    }
    expect(describeAll('/caps/bin')).toEqual(then)
    fs.rmSync(lab.disk('/caps'), { recursive: true })
    await restore(past, '/caps/bin/plain')
    const { '.': directory, plain } = then
    expect(describeAll('/caps/bin')).toEqual({ '.': directory, plain })
    await past.drop()
  })

  test('names the file and the attribute that the box cannot have, and changes nothing', async () => {
    put('/foreign/program', 'then')
    setAttributes(lab.disk('/foreign/program'), { 'security.capability': capabilities(1 << 13, 70_000) })
    const past = await take()
    put('/foreign/program', 'now')
    const restored = restore(past, '/foreign')
    if (view === 'stopped') await expect(restored).resolves.toMatchObject({ kind: 'directory' })
    else {
      const detail = '/foreign/program: its extended attribute security.capability cannot be kept there.'
      await expect(restored).rejects.toMatchObject({ code: 'path_invalid', message: detail })
      expect(fs.readFileSync(lab.disk('/foreign/program'), 'utf8')).toBe('now')
    }
    expect(hidden()).toEqual([])
    await past.drop()
  })

  test('restores a file without checksums, if it had none', async () => {
    fs.mkdirSync(lab.disk('/plain'))
    execFileSync('chattr', ['+C', lab.disk('/plain')])
    const bytes = randomBytes(100_000)
    put('/plain/file', bytes)
    const past = await take()
    for (const path of ['/plain/file', '/plain']) {
      put('/plain/file', 'other')
      await restore(past, path)
      expect(fs.readFileSync(lab.disk('/plain/file')).equals(bytes)).toBe(true)
    }
    await past.drop()
  })

  test('replaces what is at the path, and makes missing directories', async () => {
    put('/kinds/file', 'file')
    put('/kinds/directory/in', 'in')
    fs.symlinkSync('file', lab.disk('/kinds/link'))
    put('/gone/one/two/file', 'far')
    fs.chownSync(lab.disk('/gone/one'), 1000, 1000)
    fs.chmodSync(lab.disk('/gone/one/two'), 0o750)
    const past = await take()
    const inside = (): string[] => describeTree(lab.disk('/kinds')).filter((line) => !line.startsWith('. d'))
    const then = inside()
    const others = { file: () => fs.mkdirSync(lab.disk('/kinds/file')), directory: () => put('/kinds/directory', 'x') }
    for (const name of ['file', 'directory', 'link'] as const) {
      fs.rmSync(lab.disk(`/kinds/${name}`), { recursive: true })
      if (name === 'link') fs.mkdirSync(lab.disk('/kinds/link'))
      else others[name]()
      await restore(past, `/kinds/${name}`)
    }
    expect(inside()).toEqual(then)
    fs.rmSync(lab.disk('/gone'), { recursive: true })
    await restore(past, '/gone/one/two/file')
    expect(fs.readFileSync(lab.disk('/gone/one/two/file'), 'utf8')).toBe('far')
    expect(fs.statSync(lab.disk('/gone/one'))).toMatchObject({ uid: 1000, gid: 1000 })
    expect(fs.statSync(lab.disk('/gone/one/two')).mode & 0o7777).toBe(0o750)
    await past.drop()
  })

  test('fails if the snapshot has no such path, and changes nothing', async () => {
    const past = await take()
    put('/later/file', 'later')
    for (const path of ['/later/file', '/later', '/never/was/here', '/etc/passwd/x', '/etc/passwd/']) {
      const code = path.startsWith('/etc') ? 'not_a_directory' : 'file_not_found'
      await expect(restore(past, path)).rejects.toMatchObject({ code })
    }
    for (const path of ['/', '/etc/..'])
      await expect(restore(past, path)).rejects.toMatchObject({ code: 'path_invalid' })
    expect(fs.readFileSync(lab.disk('/later/file'), 'utf8')).toBe('later')
    expect(fs.existsSync(lab.disk('/never'))).toBe(false)
    await past.drop()
  })

  test('restores into a volume, and never across a mount', async () => {
    await box.write('/srv/data/file', 'then')
    const [alone, both] = [await take(), await take(true)]
    await box.write('/srv/data/file', 'now')
    await restore(both, '/srv/data/file')
    expect(await box.read('/srv/data/file')).toBe('then')
    await expect(restore(alone, '/srv/data/file')).rejects.toMatchObject({ code: 'file_not_found' })
    for (const past of [alone, both])
      for (const path of ['/srv', '/srv/data', '/srv/fixed'])
        await expect(restore(past, path)).rejects.toMatchObject({ code: 'path_invalid' })
    fs.writeFileSync(`${lab.volumes.pool.path('vol_fixed')}/file`, 'fixed')
    const fixed = await take(true)
    await expect(restore(fixed, '/srv/fixed/file')).rejects.toMatchObject({ code: 'path_invalid' })
    for (const past of [alone, both, fixed]) await past.drop()
  })

  test('changes nothing if the disk of the box is full', async () => {
    for (let index = 0; index < 4_000; index++) put(`/full/tree/${index}-${'n'.repeat(200)}`, 'x')
    const past = await take()
    put('/full/tree/new', 'new')
    const now = describeTree(lab.disk('/full'))
    const { pool } = lab.volumes
    await pool.setQuota('sub_box_main', (await pool.usedBytes('sub_box_main')) + 64 * 1024)
    await expect(restore(past, '/full/tree')).rejects.toMatchObject({ code: 'storage_full' })
    expect(describeTree(lab.disk('/full'))).toEqual(now)
    expect(hidden()).toEqual([])
    await pool.setQuota('sub_box_main', 64 * MIB)
    await restore(past, '/full/tree')
    expect(fs.existsSync(lab.disk('/full/tree/new'))).toBe(false)
    await past.drop()
  })
})
