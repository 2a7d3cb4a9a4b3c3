import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { unpackBase } from '../../../agent/core/bases/unpack.ts'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'
import { type RawTarEntry, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'

const MIB = 1024 ** 2
const SHELL: RawTarEntry = { name: 'bin/sh', body: '#!', mode: 0o755 }
let lab: PoolLab
let files: HostFiles

beforeAll(async () => {
  lab = await openPoolLab(512 * MIB)
  files = createHostFiles({ find: () => null })
})

afterEach(async () => {
  if (await lab.pool.exists('bas_it')) await lab.pool.destroy('bas_it')
})

afterAll(async () => {
  await files.close()
  await lab.close()
})

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Unpacks a base into a pool that reports `roomMib` of free space. */
function unpack(bytes: Uint8Array | AsyncIterable<Uint8Array>, roomMib = 256) {
  const capacity: CowFilesystem['capacity'] = async () => ({
    ...(await lab.pool.capacity()),
    availableBytes: (64 + roomMib) * MIB,
  })
  const filesystem = { ...lab.pool, capacity }
  return unpackBase(
    { filesystem, files },
    { subvolume: 'bas_it', project: 'demo' },
    bytes instanceof Uint8Array ? once(bytes) : bytes,
  )
}

const at = (path: string): string => `${lab.pool.path('bas_it')}/${path}`

test('a root filesystem is unpacked unchanged, and is read-only afterwards', async () => {
  const made = await unpack(
    tarOf([
      { name: './', flag: '5', mode: 0o755 },
      { name: './usr/bin/', flag: '5', mode: 0o755 },
      { name: './bin', flag: '2', target: 'usr/bin' },
      { name: './usr/bin/busybox', body: 'program', mode: 0o4755 },
      { name: './usr/bin/sh', flag: '2', target: '/bin/busybox' },
      { name: './home/', flag: '5', uid: 1000, mode: 0o700 },
    ]),
  )
  expect(made).toEqual({ entries: 5, refused: [], refusedCount: 0 })
  expect(fs.readFileSync(at('usr/bin/busybox'), 'utf8')).toBe('program')
  expect(fs.statSync(at('usr/bin/busybox')).mode & 0o7777).toBe(0o4755)
  expect([fs.statSync(at('home')).uid, fs.statSync(at('.')).mode & 0o7777]).toEqual([1000, 0o755])
  expect(() => fs.writeFileSync(at('new'), '')).toThrow('EROFS')
})

test('paths leading out and special files are left out, and nothing outside is touched', async () => {
  const outside = `${lab.directory}/outside`
  fs.mkdirSync(outside)
  const back = '../'.repeat(12)
  const made = await unpack(
    tarOf([
      SHELL,
      { name: `${back}${outside.slice(1)}/file`, body: 'evil' },
      { name: `${outside}/file`, body: 'evil' },
      { name: 'out', flag: '2', target: outside },
      { name: 'out/file', body: 'evil' },
      { name: 'hard', flag: '1', target: `${back}etc/passwd` },
      { name: 'through', flag: '1', target: 'out/file' },
      { name: 'dev/sda', flag: '4' },
      { name: 'dev/mem', flag: '3' },
      { name: 'pipe', flag: '6' },
      { name: 'fine', body: 'fine' },
    ]),
  )
  expect(fs.readdirSync(outside)).toEqual([])
  // The link exists but leads only within the box.
  expect(fs.readdirSync(at('.')).sort()).toEqual(['bin', 'fine', 'out'])
  expect(made).toMatchObject({ entries: 3, refusedCount: 8 })
})

test.each([
  ['no tar', Buffer.from('not a tar at all'.repeat(100)), /not a tar/],
  ['a tar that breaks off', tarOf([SHELL, { name: 'x', sizeBytes: 5000 }]).subarray(0, 2000), /ends too early/],
  ['a damaged gzip', Buffer.concat([gzipSync(tarOf([SHELL])).subarray(0, 40), randomBytes(100)]), /damaged/],
  ['an empty body', Buffer.alloc(0), /not a tar/],
  ['what has no shell', tarOf([{ name: 'etc/passwd' }, { name: 'bin/', flag: '5' }]), /no \/bin\/sh/],
  ['a shell that is refused', tarOf([{ name: 'bin', flag: '2', target: '/' }, SHELL]), /no \/bin\/sh/],
  ['a shell behind a link that leads out', tarOf([{ name: 'bin', flag: '2', target: '/../../bin' }]), /no \/bin\/sh/],
])('%s is no base', async (_what, bytes, why) => {
  await expect(unpack(bytes)).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringMatching(why) })
})

test.each([
  ['a file that is larger than there is room', [{ name: 'large', body: randomBytes(24 * MIB) }]],
  ['files without number', Array.from({ length: 60_000 }, (_, index) => ({ name: `many/${index}-${'n'.repeat(80)}` }))],
])('%s: the pool keeps what it has', async (_what, entries) => {
  await expect(unpack(gzipSync(tarOf([SHELL, ...entries]), { level: 1 }), 8)).rejects.toMatchObject({
    code: 'storage_full',
  })
  expect(await lab.pool.usedBytes('bas_it')).toBeLessThanOrEqual(8 * MIB)
})

test('an error of the source is the error of the unpacking', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield tarOf([SHELL]).subarray(0, 700)
    throw new Error('cut off')
  }
  await expect(unpack(broken())).rejects.toThrow('cut off')
})
