import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type BoxFiles, type FileBox, type FilePage, openFileBox } from '../../helpers/files/lab.ts'
import { draw } from '../../helpers/sample.ts'

const VIEWS = ['running', 'stopped']
// The large listing takes 20 s per view, so this draws one view.
const VIEWS_OF_MANY = draw(VIEWS, 1)

describe.each(VIEWS)('a listing of a %s box', (view) => {
  let lab: FileBox
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileBox(view)
    box = lab.box
  })

  afterAll(() => lab.close())

  // Returns the paths of all pages of a listing.
  const pages = async (path: string, depth: number, limit: number): Promise<string[][]> => {
    const found: string[][] = []
    for (let after: Uint8Array | null = null; ; ) {
      const { entries, next } = await box.list(path, { depth, after, limit })
      found.push(entries.map(textOf))
      if (next === null) return found
      after = next
    }
  }
  const textOf = (entry: FilePage['entries'][number]): string => Buffer.from(entry.path).toString('latin1')

  test('has the facts of each entry, and of links themselves', async () => {
    fs.mkdirSync(lab.disk('/facts'))
    fs.writeFileSync(lab.disk('/facts/file'), '12345', { mode: 0o600 })
    fs.chownSync(lab.disk('/facts/file'), 1000, 1000)
    fs.symlinkSync('/etc', lab.disk('/facts/link'))
    fs.mkdirSync(lab.disk('/facts/sub'))
    const { entries, next } = await box.list('/facts')
    expect(next).toBeNull()
    expect(entries.map(({ kind, uid, mode }) => [kind, uid, mode])).toEqual([
      ['file', 1000, 0o600],
      ['symlink', 0, 0o777],
      ['directory', 0, 0o755],
    ])
    expect(entries.map(({ target }) => target && Buffer.from(target).toString())).toEqual([null, '/etc', null])
    for (const { path, ...facts } of entries)
      expect(await lab.files.stat(box.place, Buffer.from(`/facts/${Buffer.from(path).toString()}`))).toEqual(facts)
  })

  test('is in byte order, a directory before its content, for any page size', async () => {
    for (const path of ['a/b/c', 'a/b.d', 'a-b', 'a.c/x', 'B/y', 'é/z', 'a/ü'])
      for (const end of ['', '/n']) fs.mkdirSync(lab.disk(`/order/${path}${end}`), { recursive: true })
    const [whole = []] = await pages('/order', 9, 1000)
    const parts = (path: string): string[] => path.split('/')
    const sorted = whole.toSorted((one, other) => {
      const [left, right] = [parts(one), parts(other)]
      const at = left.findIndex((name, index) => name !== right[index])
      if (at < 0) return left.length - right.length
      return right[at] === undefined ? 1 : (left[at] ?? '') < right[at] ? -1 : 1
    })
    expect(whole).toEqual(sorted)
    expect(whole).toHaveLength(19)
    for (const limit of [1, 2, 3, 18, 19, 20]) {
      const found = await pages('/order', 9, limit)
      expect(found.flat()).toEqual(whole)
      expect(found.every((page) => page.length <= limit)).toBe(true)
      expect(found).toHaveLength(Math.ceil(19 / limit))
    }
    expect((await pages('/order', 2, 4)).flat()).toEqual(whole.filter((path) => parts(path).length <= 2))
  })

  test('goes on after an entry that was removed', async () => {
    for (const name of ['a', 'b/x', 'c']) fs.mkdirSync(lab.disk(`/gone/${name}`), { recursive: true })
    const after = Buffer.from('b/w')
    expect((await box.list('/gone', { depth: 2, after })).entries.map(textOf)).toEqual(['b/x', 'c'])
    fs.rmSync(lab.disk('/gone/b'), { recursive: true })
    expect((await box.list('/gone', { depth: 2, after })).entries.map(textOf)).toEqual(['c'])
    expect((await box.list('/gone', { after: Buffer.from('c') })).entries).toEqual([])
  })

  test('returns names that are not UTF-8 unchanged', async () => {
    const names = ['a\nb', 'a\x01', '\xff\xfe', ' ', '-rf', '"', '\\']
    fs.mkdirSync(lab.disk('/bytes'))
    for (const name of names) fs.writeFileSync(Buffer.from(lab.disk(`/bytes/${name}`), 'latin1'), name, 'latin1')
    const { entries } = await box.list('/bytes')
    expect(entries.map(textOf)).toEqual(names.toSorted())
    for (const { path, etag } of entries) {
      const full = Buffer.concat([Buffer.from('/bytes/'), path])
      expect(await lab.files.stat(box.place, full)).toMatchObject({ etag })
      await lab.files.remove(box.place, full, { recursive: false })
    }
    expect(fs.readdirSync(lab.disk('/bytes'))).toEqual([])
  })

  test('enters volumes, but no mounts of the kernel', async () => {
    fs.writeFileSync(`${lab.volumes.pool.path('vol_data')}/in-volume`, '')
    const found = await box.names('/', 3)
    expect(found).toContain('srv/data/in-volume')
    expect(found.filter((path) => /^(proc|sys)\//.test(path))).toEqual([])
    for (const path of ['/proc', '/sys/kernel', '/proc/1/fd', '/dev/pts'])
      if (view === 'running') await expect(box.list(path)).rejects.toMatchObject({ code: 'path_invalid' })
  })

  const withMany = VIEWS_OF_MANY.includes(view) ? [100_000] : []
  for (const many of withMany)
    test(`of a directory of ${many} comes in pages, while others have their turn`, async () => {
      fs.mkdirSync(lab.disk('/many'))
      const script = `import fs from 'node:fs'
      for (let n = 0; n < 100_000; n++) fs.closeSync(fs.openSync(\`\${process.argv[1]}/\${n}\`, 'w'))`
      execFileSync(process.execPath, ['--input-type=module', '-e', script, lab.disk('/many')])
      const names = Array.from({ length: 100_000 }, (_, index) => String(index)).sort()
      const first = await box.list('/many', { limit: 1000 })
      expect(first.entries.map(textOf)).toEqual(names.slice(0, 1000))
      const last = await box.list('/many', { limit: 1000, after: Buffer.from(names[98_999] ?? '') })
      expect([last.entries.map(textOf), last.next]).toEqual([names.slice(99_000), null])
      const order: string[] = []
      const listing = pages('/many', 1, 20_000).then((found) => {
        order.push('list')
        return found.flat()
      })
      for (let round = 0; round < 20; round++) {
        await lab.files.stat(box.place, Buffer.from('/etc/passwd'))
        order.push('stat')
      }
      expect(await listing).toEqual(names)
      expect(order.at(-1)).toBe('list')
      await lab.files.remove(box.place, Buffer.from('/many'), { recursive: true })
    })
})
