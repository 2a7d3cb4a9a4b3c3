import fs from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import type { FilesRoot, UnpackReport } from '../../../agent/ports/files/files.ts'
import { type RawTarEntry, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'

let lab: PoolLab
let files: HostFiles
let place: FilesRoot

beforeAll(async () => {
  lab = await openPoolLab(512 * 1024 ** 2)
  files = createHostFiles({ find: () => null })
})

beforeEach(async () => {
  await lab.pool.create('bas_it', 'demo')
  place = { boxId: 'bas_it', rootPath: lab.pool.path('bas_it'), mounts: [] }
})

afterEach(async () => {
  await lab.pool.destroy('bas_it')
})

afterAll(async () => {
  await files.close()
  await lab.close()
})

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function apply(...layers: RawTarEntry[][]): Promise<UnpackReport> {
  let last: UnpackReport | undefined
  for (const entries of layers)
    last = await files.unpackLayer(place, Buffer.from('/'), () => once(new Uint8Array(tarOf(entries))))
  if (last === undefined) throw new Error('no layer')
  return last
}

const dir = (name: string): RawTarEntry => ({ name: `${name}/`, flag: '5', mode: 0o755 })
const tree = (): string[] =>
  shellAt(place.rootPath, `find . -mindepth 1 -printf '%P\\n' | LC_ALL=C sort`).trim().split('\n')
const text = (path: string): string => fs.readFileSync(`${place.rootPath}/${path}`, 'utf8')
const LOWER = [
  dir('etc'),
  { name: 'etc/keep', body: 'keep' },
  { name: 'etc/gone', body: 'gone' },
  dir('etc/deep'),
  dir('etc/deep/er'),
  { name: 'etc/deep/er/file', body: 'x' },
  { name: 'link', flag: '2', target: 'etc' },
  { name: 'plain', body: 'plain' },
]

test('a layer removes files and trees of lower layers, and leaves the rest', async () => {
  const report = await apply(LOWER, [
    { name: 'etc/.wh.gone' },
    { name: 'etc/.wh.deep' },
    { name: './.wh.link' },
    { name: 'etc/.wh.never' },
    { name: 'missing/.wh.x' },
    { name: 'etc/new', body: 'new' },
  ])
  expect(tree()).toEqual(['etc', 'etc/keep', 'etc/new', 'plain'])
  expect(report).toEqual({ entries: 1, refused: [], refusedCount: 0 })
})

test('an opaque directory has only the content of its layer, in any order of entries', async () => {
  await apply(LOWER, [
    { name: 'etc/before', body: '1' },
    dir('etc/deep'),
    { name: 'etc/.wh..wh..opq' },
    { name: 'etc/deep/after', body: '2' },
    { name: 'etc/.wh.before' },
  ])
  expect(tree()).toEqual(['etc', 'etc/before', 'etc/deep', 'etc/deep/after', 'link', 'plain'])
})

test('an entry of another type is replaced: a tree by a file, a link or a file by a directory', async () => {
  await apply(LOWER, [
    { name: 'etc/deep', body: 'a file now' },
    dir('link'),
    { name: 'link/in', body: 'in' },
    dir('plain'),
    { name: 'etc/keep', flag: '2', target: 'gone' },
  ])
  expect(tree()).toEqual(['etc', 'etc/deep', 'etc/gone', 'etc/keep', 'link', 'link/in', 'plain'])
  expect([text('etc/deep'), text('link/in'), text('etc/keep')]).toEqual(['a file now', 'in', 'gone'])
})

test('hard links of a layer may lead to files of a lower layer', async () => {
  await apply(LOWER, [{ name: 'hard', flag: '1', target: 'etc/keep' }])
  expect(text('hard')).toBe('keep')
  expect(fs.statSync(`${place.rootPath}/hard`).nlink).toBe(2)
})

test('no whiteout removes anything outside, above, or through a link', async () => {
  const outside = `${lab.directory}/outside`
  fs.mkdirSync(outside, { recursive: true })
  fs.writeFileSync(`${outside}/precious`, 'precious')
  const before = fs.readdirSync(lab.pool.path('bas_it').replace(/\/bas_it$/, ''))
  const out = { name: 'out', flag: '2', target: outside }
  await apply(
    [...LOWER, out, { name: 'up', flag: '2', target: '../../../..' }],
    [
      { name: '.wh..' },
      { name: '.wh...' },
      { name: '.wh.' },
      { name: 'etc/.wh...' },
      { name: '../.wh.bas_it' },
      { name: `${outside}/.wh.precious` },
      { name: 'out/.wh.precious' },
      { name: 'out/.wh..wh..opq' },
      { name: 'up/.wh..wh..opq' },
      { name: 'link/.wh.keep' },
      { name: 'etc/.wh..wh.plnk' },
      { name: `.wh.../${outside}/precious` },
    ],
  )
  expect(text('etc/keep')).toBe('keep')
  expect(fs.readFileSync(`${outside}/precious`, 'utf8')).toBe('precious')
  expect(fs.readdirSync(lab.pool.path('bas_it').replace(/\/bas_it$/, ''))).toEqual(before)
  expect(tree().some((name) => name.includes('.wh.'))).toBe(false)
})

test('a whiteout of all removes the whole tree, and nothing else', async () => {
  await apply(LOWER, [{ name: '.wh..wh..opq' }, { name: 'only', body: 'only' }])
  expect(tree()).toEqual(['only'])
})

test('an invalid layer is refused before anything is removed', async () => {
  await apply(LOWER)
  const broken = gzipSync(tarOf([{ name: '.wh..wh..opq' }]))
  await expect(files.unpackLayer(place, Buffer.from('/'), () => once(broken))).rejects.toMatchObject({
    code: 'invalid_request',
  })
  expect(text('etc/keep')).toBe('keep')
})
