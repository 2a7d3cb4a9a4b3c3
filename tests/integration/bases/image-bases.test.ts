import fs from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { spoolImage, unpackImage } from '../../../agent/core/bases/image.ts'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import { type RawTarEntry, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { type LayoutDescriptor, newImage, savedImage } from '../../helpers/bases/image-archive.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'

let lab: PoolLab
let files: HostFiles

beforeAll(async () => {
  lab = await openPoolLab(512 * 1024 ** 2)
  files = createHostFiles({ find: () => null })
})

afterEach(async () => {
  for (const name of ['bas_it', 'tmp_it']) await lab.pool.destroy(name)
})

afterAll(async () => {
  await files.close()
  await lab.close()
})

const text = (path: string): string => fs.readFileSync(`${lab.pool.path('bas_it')}/${path}`, 'utf8')
const LOWER: RawTarEntry[] = [{ name: 'bin/sh', body: '#!' }, { name: 'etc/a', body: 'lower' }, { name: 'etc/b' }]
const UPPER: RawTarEntry[] = [{ name: 'etc/a', body: 'upper' }, { name: 'etc/.wh.b' }]
const HERE = { os: 'linux', architecture: 'amd64' }

async function make(archive: Uint8Array, signal = new AbortController().signal) {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield archive
  }
  const deps = { filesystem: lab.pool, files, architecture: 'amd64' }
  const spool = await spoolImage(deps, { subvolume: 'tmp_it', project: 'demo' }, bytes())
  const shares: number[] = []
  const run = { signal, progress: (share: number) => void shares.push(share) }
  return { report: await unpackImage(deps, { tree: { subvolume: 'bas_it', project: 'demo' }, spool }, run), shares }
}

function expectBoth(): void {
  expect(fs.readdirSync(`${lab.pool.path('bas_it')}/etc`)).toEqual(['a'])
  expect(text('etc/a')).toBe('upper')
}

test.each(['tar', 'gzip', 'zstd'] as const)('an OCI archive with layers of %s becomes one tree', async (kind) => {
  const image = newImage()
  const layers = [LOWER, UPPER].map((entries) => image.addLayer(tarOf(entries), kind))
  const { report, shares } = await make(image.archive([image.addManifest(layers)]))
  expectBoth()
  expect(report).toEqual({ entries: 4, refused: [], refusedCount: 0 })
  expect(shares).toEqual([0.5, 1])
  expect(() => fs.writeFileSync(`${lab.pool.path('bas_it')}/new`, '')).toThrow('EROFS')
})

test('an archive of docker save becomes one tree, also if it is compressed as a whole', async () => {
  await make(gzipSync(savedImage([tarOf(LOWER), tarOf(UPPER)])))
  expectBoth()
})

test('the platform of this host is chosen from a multi-platform image, through nested indexes', async () => {
  const image = newImage()
  const other = image.addManifest([image.addLayer(tarOf([{ name: 'bin/sh', body: 'other' }]), 'gzip')], {
    platform: { os: 'linux', architecture: 'arm64' },
  })
  const layers = [LOWER, UPPER].map((entries) => image.addLayer(tarOf(entries), 'gzip'))
  const here = image.addManifest(layers, { platform: HERE })
  const told = image.addManifest([], { annotations: { 'vnd.docker.reference.type': 'attestation-manifest' } })
  await make(image.archive([image.addIndex([other, here, told])]))
  expectBoth()
})

test('hostile layers reach nothing outside, and refused entries are listed', async () => {
  const outside = `${lab.directory}/outside`
  fs.mkdirSync(outside)
  fs.writeFileSync(`${outside}/precious`, 'precious')
  const image = newImage()
  const layers = [
    [...LOWER, { name: 'out', flag: '2', target: outside }],
    [{ name: 'out/.wh.precious' }, { name: 'out/new', body: 'evil' }, { name: '../../evil', body: 'evil' }],
    [{ name: '../.wh.tmp_it' }, { name: '.wh...' }, { name: 'dev/sda', flag: '4' }],
  ].map((entries) => image.addLayer(tarOf(entries), 'gzip'))
  const { report } = await make(image.archive([image.addManifest(layers)]))
  expect(fs.readdirSync(outside)).toEqual(['precious'])
  expect(report.refused.map(({ path }) => Buffer.from(path).toString())).toEqual([
    'out/new',
    '../../evil',
    '../.wh.tmp_it',
    'dev/sda',
  ])
  expect(await lab.pool.exists('tmp_it')).toBe(true)
})

const part = (digest: string): LayoutDescriptor => ({
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  digest,
  size: 1,
})
const AT_ODDS = 'a'.repeat(64)
test.each<[string, () => Uint8Array, RegExp]>([
  ['a root filesystem', () => tarOf(LOWER), /not an image/],
  ['two images', () => savedImage([tarOf(LOWER)], 2), /several images/],
  ['an index without images', () => newImage().archive([]), /no image for linux\/amd64/],
  ['a part that is missing', () => newImage().archive([part(`sha256:${AT_ODDS}`)]), /is missing/],
  ['a digest that leads out', () => newImage().archive([part('sha256:../../../etc/passwd')]), /unexpected content/],
  ['JSON that is none', () => tarOf([{ name: 'index.json', body: '{' }]), /not JSON/],
  [
    'an index that is a link out',
    () => tarOf([{ name: 'index.json', flag: '2', target: '/etc/passwd' }]),
    /not an image/,
  ],
  [
    'JSON of many faults',
    () => tarOf([{ name: 'index.json', body: `{"manifests":[${'0,'.repeat(2e6)}0]}` }]),
    /16384 fields/,
  ],
  ['too much JSON', () => tarOf([{ name: 'index.json', body: ' '.repeat(5 * 1024 ** 2) }]), /larger than 4 MiB/],
])('%s is no image', async (_what, archive, why) => {
  await expect(make(archive())).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(why),
  })
})

test('a layer with a wrong digest is refused', async () => {
  const image = newImage()
  const layer = image.addLayer(tarOf(LOWER), 'gzip')
  image.parts.set(layer.digest, gzipSync(tarOf([...LOWER, { name: 'evil' }])))
  await expect(make(image.archive([image.addManifest([layer])]))).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining(' does not match'),
  })
})

const ODD_TYPE = 'application/vnd.oci.image.layer.v1.tar+encrypted'
test.each<[string, (image: ReturnType<typeof newImage>) => LayoutDescriptor[], string]>([
  [
    'several for one platform',
    (image) => [image.addManifest([]), image.addManifest([part(`sha256:${AT_ODDS}`)])],
    'several',
  ],
  [
    'a layer of another type',
    (image) => [image.addManifest([image.add(ODD_TYPE, Buffer.from('x'))])],
    'of an unsupported type',
  ],
  [
    'one for another system',
    (image) => [image.addManifest([], { platform: { ...HERE, os: 'windows' } })],
    'no image for',
  ],
  [
    'indexes of indexes',
    (image) => [[0, 1, 2, 3, 4].reduce((inner) => image.addIndex([inner]), image.addIndex([]))],
    'do not lead',
  ],
])('%s is refused', async (_what, manifests, why) => {
  const image = newImage()
  await expect(make(image.archive(manifests(image)))).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining(why),
  })
})

test('an unpacking that the end of the service cuts off ends soon', async () => {
  const image = newImage()
  const layer = image.addLayer(tarOf(LOWER), 'gzip')
  const end = AbortSignal.abort(new Error('the service ends'))
  await expect(make(image.archive([image.addManifest([layer])]), end)).rejects.toThrow('the service ends')
})
