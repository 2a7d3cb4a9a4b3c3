import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute } from '../../helpers/boxes/oci-lab.ts'
import { type BoxFiles, type FileBox, openFileBox, PLAIN, pieces } from '../../helpers/files/lab.ts'

const MIB = 1024 * 1024
const VOLUMES = { '/srv/data': 'vol_data', '/srv/fixed': 'vol_fixed:ro' }

describe.each(['running', 'stopped'])('files of a %s box', (view) => {
  let lab: FileBox
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileBox(view, VOLUMES)
    box = lab.box
    fs.writeFileSync(`${lab.volumes.pool.path('vol_fixed')}/kept`, 'as it is')
  })

  afterAll(() => lab.close())

  const P = (path: string): Buffer => Buffer.from(path)
  const makeDirectory = (name: string): string => {
    fs.mkdirSync(lab.disk(`/${name}`))
    return `/${name}`
  }

  test('a stat returns what lstat does, with the ids of the box', async () => {
    const home = makeDirectory('stats')
    fs.writeFileSync(lab.disk(`${home}/file`), '12345', { mode: 0o640 })
    fs.chownSync(lab.disk(`${home}/file`), 1000, 29)
    fs.symlinkSync('file', lab.disk(`${home}/link`))
    execFileSync('mkfifo', [lab.disk(`${home}/fifo`)])
    const { mtimeMs } = fs.statSync(lab.disk(`${home}/file`))
    const facts = await lab.files.stat(box.place, P(`${home}/file`))
    const told = { kind: 'file', sizeBytes: 5, mode: 0o640, uid: 1000, gid: 29, target: null }
    expect(facts).toMatchObject({ ...told, modifiedAt: Math.floor(mtimeMs) })
    expect(facts.etag).toMatch(/^"[a-z\d-]+"$/)
    const link = await lab.files.stat(box.place, P(`${home}/link`))
    expect({ kind: link.kind, target: Buffer.from(link.target ?? '').toString() }).toEqual({
      kind: 'symlink',
      target: 'file',
    })
    expect(await lab.files.stat(box.place, P(`${home}/fifo`))).toMatchObject({ kind: 'fifo' })
    expect(await lab.files.stat(box.place, P('/'))).toMatchObject({ kind: 'directory' })
    fs.chownSync(lab.disk(`${home}/file`), 70_000, 4_000_000_000)
    expect(await lab.files.stat(box.place, P(`${home}/file`))).toMatchObject({ uid: 65_534, gid: 65_534 })
  })

  test('an etag changes with content and metadata', async () => {
    const path = `${makeDirectory('etags')}/file`
    const etag = async (): Promise<string> => (await lab.files.stat(box.place, P(path))).etag
    await box.write(path, 'one')
    const seen = [await etag()]
    expect(await etag()).toBe(seen[0])
    await box.write(path, 'two')
    seen.push(await etag())
    fs.writeFileSync(lab.disk(path), '222')
    seen.push(await etag())
    fs.chmodSync(lab.disk(path), 0o600)
    seen.push(await etag())
    expect(new Set(seen).size).toBe(4)
  })

  test.each([0, 5, 65_536, 65_537, 3 * MIB])('a file of %d bytes is read whole and in part', async (size) => {
    const path = `${makeDirectory(`reads-${size}`)}/file`
    const bytes = randomBytes(size)
    fs.writeFileSync(lab.disk(path), bytes)
    const read = async (start: number, end: number): Promise<Buffer> =>
      buffer((await lab.files.open(box.place, P(path))).read({ start, end }))
    expect((await read(0, size)).equals(bytes)).toBe(true)
    const [start, end] = [Math.floor(size / 3), Math.ceil(size / 2)]
    expect((await read(start, end)).equals(bytes.subarray(start, end))).toBe(true)
    const file = await lab.files.open(box.place, P(path))
    expect(file.facts).toMatchObject({ sizeBytes: size, etag: (await lab.files.stat(box.place, P(path))).etag })
    file.close()
  })

  test('a new file belongs to root, one that is replaced keeps owner and mode', async () => {
    const home = makeDirectory('owners')
    expect(await box.write(`${home}/file`, 'first')).toMatchObject({
      isNew: true,
      facts: { uid: 0, gid: 0, mode: 0o644 },
    })
    const owned = (): number[] => {
      const { uid, gid, mode } = fs.statSync(lab.disk(`${home}/file`))
      return [uid, gid, mode & 0o7777]
    }
    expect(owned()).toEqual([0, 0, 0o644])
    fs.chownSync(lab.disk(`${home}/file`), 1000, 44)
    fs.chmodSync(lab.disk(`${home}/file`), 0o4750)
    for (const text of ['second', 'x'.repeat(200_000)]) {
      expect(await box.write(`${home}/file`, text)).toMatchObject({
        isNew: false,
        facts: { uid: 1000, gid: 44, mode: 0o4750 },
      })
      expect(owned()).toEqual([1000, 44, 0o4750])
      expect(fs.readFileSync(lab.disk(`${home}/file`), 'utf8')).toBe(text)
    }
    await box.write(`${home}/file`, 'third', { mode: 0o600 })
    expect(owned()).toEqual([1000, 44, 0o600])
    expect(await box.names(home)).toEqual(['file'])
  })

  test('a write follows links, inside the box', async () => {
    const home = makeDirectory('links')
    fs.symlinkSync('target', lab.disk(`${home}/relative`))
    fs.symlinkSync(`${home}/relative`, lab.disk(`${home}/absolute`))
    fs.symlinkSync('../../../../../../../../links/up', lab.disk(`${home}/above`))
    for (const name of ['relative', 'absolute']) {
      await box.write(`${home}/${name}`, name)
      expect(fs.readFileSync(lab.disk(`${home}/target`), 'utf8')).toBe(name)
    }
    await box.write(`${home}/above`, 'up')
    expect(fs.readFileSync(lab.disk(`${home}/up`), 'utf8')).toBe('up')
    expect(fs.lstatSync(lab.disk(`${home}/absolute`)).isSymbolicLink()).toBe(true)
  })

  test('missing directories are made only if requested', async () => {
    const home = makeDirectory('parents')
    await expect(box.write(`${home}/a/b/c`, '1')).rejects.toMatchObject({ code: 'file_not_found' })
    await box.write(`${home}/a/b/c`, '2', { parents: true })
    const { uid, mode } = fs.statSync(lab.disk(`${home}/a/b`))
    expect([uid, mode & 0o7777, fs.readFileSync(lab.disk(`${home}/a/b/c`), 'utf8')]).toEqual([0, 0o755, '2'])
    const refused = box.write(`${home}/x/y`, '3', { parents: true, ifMatch: '*' })
    await expect(refused).rejects.toMatchObject({ code: 'precondition_failed' })
    expect(await box.names(home)).toEqual(['a'])
  })

  test('conditions are kept', async () => {
    const path = `${makeDirectory('conditions')}/file`
    const failed = { code: 'precondition_failed' }
    await expect(box.write(path, '1', { ifMatch: '*' })).rejects.toMatchObject(failed)
    const { facts } = await box.write(path, '2', { ifNoneMatch: true })
    await expect(box.write(path, '3', { ifNoneMatch: true })).rejects.toMatchObject(failed)
    await expect(box.write(path, '4', { ifMatch: ['"other"'] })).rejects.toMatchObject(failed)
    expect(await box.read(path)).toBe('2')
    await box.write(path, '5', { ifMatch: ['"other"', facts.etag] })
    await expect(box.write(path, '6', { ifMatch: [facts.etag] })).rejects.toMatchObject(failed)
    await box.write(path, '7', { ifMatch: '*' })
    expect(await box.read(path)).toBe('7')
  })

  test.each([1, 40])('a write whose bytes end in an error after %d pieces changes nothing', async (count) => {
    const home = makeDirectory(`broken-${count}`)
    await box.write(`${home}/file`, 'before')
    const broken = (async function* () {
      yield* pieces(Buffer.alloc(32_768), count)
      throw new Error('the client left')
    })()
    for (const name of ['file', 'new/other']) {
      const write = lab.files.write(box.place, P(`${home}/${name}`), { ...PLAIN, parents: true }, broken)
      if (name === 'file') await expect(write).rejects.toThrow('the client left')
      else await write
    }
    expect(await box.read(`${home}/file`)).toBe('before')
    expect(await box.names(home)).toEqual(['file', 'new'])
  })

  test('a directory is made with its mode, and making it again succeeds', async () => {
    const home = makeDirectory('made')
    const make = (path: string, options: { mode: number | null; parents: boolean }): Promise<unknown> =>
      lab.files.makeDirectory(box.place, P(`${home}${path}`), options)
    const plain = { mode: null, parents: false }
    expect(await make('/a', plain)).toMatchObject({ isNew: true, facts: { kind: 'directory', mode: 0o755, uid: 0 } })
    expect(await make('/a', { mode: 0o700, parents: false })).toMatchObject({ isNew: false, facts: { mode: 0o755 } })
    expect(await make('/b/c/', { mode: 0o1770, parents: true })).toMatchObject({ isNew: true, facts: { mode: 0o1770 } })
    expect(fs.statSync(lab.disk(`${home}/b`)).mode & 0o7777).toBe(0o755)
    await expect(make('/d/e', plain)).rejects.toMatchObject({ code: 'file_not_found' })
    fs.writeFileSync(lab.disk(`${home}/file`), '')
    await expect(make('/file', plain)).rejects.toMatchObject({ code: 'not_a_directory' })
  })

  test('a move renames, replaces only if requested, and not from disk to disk', async () => {
    const home = makeDirectory('moves')
    const move = (from: string, to: string, overwrite = false): Promise<unknown> =>
      lab.files.move(box.place, P(from), P(to), { overwrite })
    await box.write(`${home}/a`, 'a')
    await box.write(`${home}/b`, 'b')
    fs.mkdirSync(lab.disk(`${home}/dir`))
    await expect(move(`${home}/a`, `${home}/b`)).rejects.toMatchObject({ code: 'name_taken' })
    await expect(move(`${home}/a`, `${home}/none/b`)).rejects.toMatchObject({ code: 'file_not_found' })
    await expect(move(`${home}/a`, '/srv/data/a')).rejects.toMatchObject({ code: 'path_invalid' })
    await expect(move(`${home}/dir`, `${home}/dir/in`)).rejects.toMatchObject({ code: 'path_invalid' })
    await expect(move('/srv/data', `${home}/data`)).rejects.toMatchObject({ code: 'path_invalid' })
    expect(await move(`${home}/a`, `${home}/b`, true)).toMatchObject({ kind: 'file', sizeBytes: 1 })
    expect(await move(`${home}/b`, `${home}/dir/c`)).toMatchObject({ kind: 'file' })
    expect([await box.names(home, 2), await box.read(`${home}/dir/c`)]).toEqual([['dir', 'dir/c'], 'a'])
  })

  test('a removal takes one entry, or a tree if requested', async () => {
    const home = makeDirectory('removals')
    const remove = (path: string, recursive = false): Promise<void> =>
      lab.files.remove(box.place, P(`${home}${path}`), { recursive })
    fs.mkdirSync(lab.disk(`${home}/tree/a/b`), { recursive: true })
    fs.writeFileSync(lab.disk(`${home}/tree/a/file`), '')
    fs.symlinkSync('../..', lab.disk(`${home}/tree/a/b/up`))
    fs.writeFileSync(lab.disk(`${home}/file`), '')
    fs.symlinkSync('file', lab.disk(`${home}/link`))
    await expect(remove('/tree')).rejects.toMatchObject({ code: 'directory_not_empty' })
    await expect(remove('/file/')).rejects.toMatchObject({ code: 'not_a_directory' })
    await remove('/link')
    expect(await box.names(home)).toEqual(['file', 'tree'])
    await remove('/tree', true)
    await remove('/file')
    await expect(remove('/file', true)).rejects.toMatchObject({ code: 'file_not_found' })
    expect(await box.names(home)).toEqual([])
    await remove('/')
  })

  test('neither the root, a mount, nor a tree with one in it is removed', async () => {
    const before = await box.names('/', 3)
    for (const path of ['/', '/.', '/srv/data', '/srv', '/srv/data/..', '/srv/data/'])
      await expect(lab.files.remove(box.place, P(path), { recursive: true })).rejects.toMatchObject({
        code: 'path_invalid',
      })
    expect(await box.names('/', 3)).toEqual(before)
  })

  test('volumes are at their paths, read-only ones cannot be written', async () => {
    expect(await box.read('/srv/fixed/kept')).toBe('as it is')
    await box.write('/srv/data/new', 'in the volume')
    expect(fs.readFileSync(`${lab.volumes.pool.path('vol_data')}/new`, 'utf8')).toBe('in the volume')
    const options = { recursive: true, overwrite: true, mode: null, parents: true }
    for (const change of [
      box.write('/srv/fixed/kept', 'changed'),
      box.write('/srv/fixed/new', 'made'),
      lab.files.remove(box.place, P('/srv/fixed/kept'), options),
      lab.files.move(box.place, P('/srv/fixed/kept'), P('/srv/fixed/other'), options),
      lab.files.makeDirectory(box.place, P('/srv/fixed/directory/in'), options),
    ])
      await expect(change).rejects.toMatchObject({ code: 'path_invalid' })
    expect(await box.names('/srv', 2)).toEqual(['data', 'data/new', 'fixed', 'fixed/kept'])
    await lab.files.remove(box.place, P('/srv/data/new'), options)
    if (view === 'running')
      await expect(box.write('/etc/machine-id', '')).rejects.toMatchObject({ code: 'path_invalid' })
  })

  test('directories, special files and invalid paths are refused', async () => {
    const home = makeDirectory('refused')
    fs.writeFileSync(lab.disk(`${home}/file`), '')
    execFileSync('mkfifo', [lab.disk(`${home}/fifo`)])
    execFileSync('mknod', [lab.disk(`${home}/null`), 'c', '1', '3'])
    fs.symlinkSync('loop', lab.disk(`${home}/loop`))
    const refusals: [string, string][] = [
      [`${home}/none`, 'file_not_found'],
      [`${home}/file/in`, 'not_a_directory'],
      [`${home}/fifo`, 'path_invalid'],
      [`${home}/null`, 'path_invalid'],
      [`${home}/loop`, 'path_invalid'],
      [home, 'is_a_directory'],
      ['relative', 'path_invalid'],
      ['/zero\0byte', 'path_invalid'],
      [`/${'x'.repeat(256)}`, 'path_invalid'],
      [`/${'x/'.repeat(2100)}`, 'path_invalid'],
    ]
    for (const [path, code] of refusals) {
      await expect(lab.files.open(box.place, P(path))).rejects.toMatchObject({ code })
      if (code !== 'file_not_found') await expect(box.write(path, '')).rejects.toMatchObject({ code })
    }
    await expect(box.list(`${home}/file`)).rejects.toMatchObject({ code: 'not_a_directory' })
    await expect(box.list(`${home}/none`)).rejects.toMatchObject({ code: 'file_not_found' })
  })

  test('a full disk refuses a write, keeps existing files, and takes removals', async () => {
    const home = makeDirectory('full')
    await box.write(`${home}/file`, 'before')
    const write = (name: string): Promise<unknown> =>
      lab.files.write(box.place, P(`${home}/${name}`), PLAIN, pieces(randomBytes(MIB), 80))
    await expect(write('file')).rejects.toMatchObject({ code: 'storage_full' })
    expect([await box.read(`${home}/file`), await box.names(home)]).toEqual(['before', ['file']])
    fs.mkdirSync(lab.disk(`${home}/tree`))
    const fill = (): void => {
      for (let index = 0; ; index++) fs.writeFileSync(lab.disk(`${home}/tree/${index}`), randomBytes(200_000))
    }
    expect(fill).toThrow(expect.objectContaining({ errno: -122 }))
    await expect(box.write(`${home}/file`, 'x'.repeat(60_000))).rejects.toMatchObject({ code: 'storage_full' })
    await lab.files.remove(box.place, P(`${home}/tree`), { recursive: true })
    execFileSync('sync', ['-f', lab.disk('/')])
    await box.write(`${home}/file`, 'after')
    expect(await box.names(home)).toEqual(['file'])
  })

  test('writes are visible in the box, also after a restart', async () => {
    await box.write('/root/note', 'for the box')
    if (view === 'stopped') await box.start()
    const { stdout } = await execute(lab.volumes.lab.runtime, 'box_main', 'cat /root/note; stat -c %u:%g:%a /root/note')
    expect(stdout).toBe('for the box0:0:644\n')
    await (view === 'stopped' ? box.stop() : box.start())
  })
})
