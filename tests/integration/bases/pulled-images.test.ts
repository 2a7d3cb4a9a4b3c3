import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import type { ServerResponse } from 'node:http'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { pullImage, unpackImage } from '../../../agent/core/bases/image.ts'
import { parseImageReference } from '../../../agent/core/bases/image-reference.ts'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import { createImageRegistry } from '../../../agent/drivers/registry/image-registry.ts'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { type ImageLayout, type LayoutDescriptor, newImage } from '../../helpers/bases/image-archive.ts'
import { type Script, type ScriptedRegistry, startScriptedRegistry } from '../../helpers/bases/scripted-registry.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'

let lab: PoolLab
let files: HostFiles
const opened: ScriptedRegistry[] = []

beforeAll(async () => {
  lab = await openPoolLab(512 * 1024 ** 2)
  files = createHostFiles({ find: () => null })
})

afterEach(async () => {
  for (const registry of opened.splice(0)) await registry.close()
  for (const name of ['bas_it', 'tmp_it']) await lab.pool.destroy(name)
})

afterAll(async () => {
  await files.close()
  await lab.close()
})

/** Pulls the image from a scripted registry, and unpacks it as the service does. */
async function make(
  what: { image: ImageLayout; top: LayoutDescriptor },
  script?: Script,
  signal = new AbortController().signal,
) {
  const registry = await startScriptedRegistry(what, script)
  opened.push(registry)
  const images = createImageRegistry({ named: [registry.url], now: Date.now })
  const deps = { filesystem: lab.pool, files, architecture: 'amd64', registry: images }
  const shares: number[] = []
  const run = { signal, progress: (share: number) => void shares.push(share) }
  const reference = parseImageReference(`${registry.host}/it:1`)
  const { root, source } = await pullImage(deps, { reference, spool: { subvolume: 'tmp_it', project: 'demo' } }, run)
  const brought = shares.splice(0)
  const report = await unpackImage(deps, { tree: { subvolume: 'bas_it', project: 'demo' }, spool: root }, run)
  return { report, source, brought, registry }
}

const text = (path: string): string => fs.readFileSync(`${lab.pool.path('bas_it')}/${path}`, 'utf8')
const image = newImage()
const layer = image.addLayer(
  tarOf([
    { name: 'bin/sh', body: '#!' },
    { name: 'large', body: randomBytes(400_000) },
  ]),
  'tar',
)
const upper = image.addLayer(tarOf([{ name: 'bin/.wh.gone' }, { name: 'etc/upper', body: 'upper' }]), 'zstd')
const top = image.addManifest([layer, upper])
const LAYER = `/v2/it/blobs/${layer.digest}`
const bytes = Buffer.from(image.parts.get(layer.digest) ?? '')

test('a pulled image becomes one tree, and its source is recorded', async () => {
  const { report, source, brought, registry } = await make({ image, top })
  expect(text('etc/upper')).toBe('upper')
  expect(report.refused).toEqual([])
  expect(source).toBe(`oci:${registry.host}/it:1@${top.digest}`)
  expect([brought.at(0), brought.at(-1)]).toEqual([expect.closeTo(0, 1), 1])
  expect([...brought].sort((a, b) => a - b)).toEqual(brought)
})

test('a manifest is requested again once if its connection drops', async () => {
  const dropping = (drops: number) => {
    let count = 0
    return (path: string, _request: unknown, response: ServerResponse): boolean => {
      if (path !== '/v2/it/manifests/1' || ++count > drops) return false
      response.destroy()
      return true
    }
  }
  const { registry } = await make({ image, top }, dropping(1))
  expect(registry.asked.filter((path) => path.includes('manifests'))).toHaveLength(2)
  await expect(make({ image, top }, dropping(2))).rejects.toMatchObject({ code: 'internal' })
})

describe('a connection that drops in the middle of a layer', () => {
  const dropping =
    (drops: number, answer: (response: ServerResponse, from: number) => void, ranges: (string | undefined)[]): Script =>
    (path, request, response) => {
      if (path !== LAYER) return false
      ranges.push(request.headers.range)
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      if (ranges.length > drops) {
        answer(response, from)
        return true
      }
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 50))
      return true
    }
  const inPart = (response: ServerResponse, from: number): void => {
    const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`
    response.writeHead(206, { 'content-range': range }).end(bytes.subarray(from))
  }

  test.each([
    ['from where it was', inPart],
    ['from its beginning, where the registry knows no ranges', (response: ServerResponse) => response.end(bytes)],
  ])('is asked for again %s', async (_how, answer) => {
    const ranges: (string | undefined)[] = []
    await make({ image, top }, dropping(1, answer, ranges))
    expect(fs.statSync(`${lab.pool.path('bas_it')}/large`).size).toBe(400_000)
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/)])
  })

  test.each<[string, number, (response: ServerResponse, from: number) => void]>([
    ['and again', 2, inPart],
    ['and what follows is from elsewhere', 1, (response) => inPart(response, 0)],
  ])('%s has failed', async (_how, drops, answer) => {
    const ranges: (string | undefined)[] = []
    await expect(make({ image, top }, dropping(drops, answer, ranges))).rejects.toMatchObject({ code: 'internal' })
    expect(ranges).toHaveLength(2)
  })
})

test('an aborted pull ends at once, at any wait', async () => {
  for (const at of ['/v2/it/manifests/1', LAYER]) {
    const end = new AbortController()
    const cutOff = make(
      { image, top },
      (path, _request, response) => {
        if (path !== at) return false
        if (at === LAYER) response.writeHead(200).write(bytes.subarray(0, 1000))
        setTimeout(() => end.abort(new Error('the service ends')), 50)
        return true
      },
      end.signal,
    )
    await expect(cutOff).rejects.toThrow('the service ends')
    await lab.pool.destroy('tmp_it')
  }
})

test('a layer that unpacks to more than there is room for ends there, and the pool is as it was', async () => {
  const bomb = newImage()
  // Repeats at a distance that zstd sees and btrfs compression does not.
  const block = randomBytes(1024 ** 2)
  const body = Buffer.alloc(700 * 1024 ** 2)
  for (let at = 0; at < body.length; at += block.length) {
    block.copy(body, at)
    // Stays below 100 times the input. The service would not unpack more than that.
    randomBytes(20 * 1024).copy(body, at)
  }
  const packed = zstdCompressSync(tarOf([{ name: 'bin/sh' }, { name: 'bomb', body }]))
  expect(packed.length).toBeLessThan(20 * 1024 ** 2)
  const { availableBytes: before } = await lab.pool.capacity()
  const part = bomb.add('application/vnd.oci.image.layer.v1.tar+zstd', packed)
  const made = make({ image: bomb, top: bomb.addManifest([part]) })
  await expect(made).rejects.toMatchObject({ code: 'storage_full' })
  for (const name of ['bas_it', 'tmp_it']) await lab.pool.destroy(name)
  await eventually(async () => (await lab.pool.capacity()).availableBytes > before - 32 * 1024 ** 2)
})

test('a layer without room is not downloaded to its end, and the pool is as it was', async () => {
  const { availableBytes: before } = await lab.pool.capacity()
  const block = randomBytes(1024 ** 2)
  const large = newImage()
  const part = { ...layer, digest: `sha256:${'0'.repeat(64)}`, size: 700 * block.length }
  let sent = 0
  const made = make({ image: large, top: large.addManifest([part]) }, (path, _request, response) => {
    if (!path.endsWith(part.digest)) return false
    const write = (): void => {
      while (!response.destroyed && sent++ < 700 && response.write(block)) continue
    }
    response.writeHead(200, { 'content-length': part.size }).on('drain', write)
    write()
    return true
  })
  await expect(made).rejects.toMatchObject({ code: 'storage_full' })
  expect(sent).toBeLessThan(600)
  await lab.pool.destroy('tmp_it')
  await eventually(async () => (await lab.pool.capacity()).availableBytes > before - 32 * 1024 ** 2)
  // btrfs frees the space of metadata later than the space of data.
  await eventually(() => lab.pool.create('tmp_it', 'demo').then(() => true, isFull))
  await lab.pool.destroy('tmp_it')
  expect((await make({ image, top })).report.refused).toEqual([])
})

function isFull(error: unknown): false {
  expect(error).toMatchObject({ code: 'storage_full' })
  return false
}

const invalid = (why: string) => ({ code: 'invalid_request', message: expect.stringContaining(`/image: ${why}`) })
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
test.each<[string, (layout: ImageLayout) => LayoutDescriptor, string]>([
  ['no JSON', (layout) => layout.add(MANIFEST, Buffer.from('<html>')), 'the answer of the registry is not JSON'],
  ['an array', (layout) => layout.add(MANIFEST, json([])), 'it is not an image'],
  ['of before', (layout) => layout.add(MANIFEST, json({ schemaVersion: 1, fsLayers: [] })), 'its format is too old'],
  ['nothing', (layout) => layout.add(MANIFEST, json({ schemaVersion: 2 })), 'it is not an image'],
  [
    'both',
    (layout) => layout.add(MANIFEST, json({ schemaVersion: 2, manifests: [], layers: [] })),
    'it is both an index and',
  ],
  [
    'too much',
    (layout) => layout.add(MANIFEST, Buffer.alloc(5 * 1024 ** 2, ' ')),
    'the registry answers with more than',
  ],
  ['of many layers', (layout) => layout.addManifest(Array(513).fill(layer)), 'it is not an image'],
  ['of a layer of less than nothing', (layout) => layout.addManifest([{ ...layer, size: -1 }]), 'it is not an image'],
  [
    'of a digest that leads out',
    (layout) => layout.addManifest([{ ...layer, digest: 'sha256:../x' }]),
    'it is not an image',
  ],
  [
    'of another type',
    (layout) => layout.addManifest([layout.add('text/plain', Buffer.from('x'))]),
    'it has a layer of an unsupported type',
  ],
  ['for nobody here', (layout) => layout.addIndex([]), 'it is not for linux/amd64'],
  [
    'deep',
    (layout) => [0, 1, 2, 3].reduce((inner) => layout.addIndex([inner]), layout.addIndex([])),
    'its indexes do not lead',
  ],
  [
    'for another processor',
    (layout) => {
      const config = layout.add(CONFIG, json({ os: 'linux', architecture: 'arm64' }))
      return layout.add(MANIFEST, json({ schemaVersion: 2, config, layers: [] }))
    },
    'it is not for linux/amd64',
  ],
])('a manifest that is %s is refused', async (_what, topOf, why) => {
  const layout = newImage()
  await expect(make({ image: layout, top: topOf(layout) })).rejects.toMatchObject(invalid(why))
})

test('an image above the size limit is not downloaded', async () => {
  const layout = newImage()
  const huge = layout.addManifest([{ ...layer, size: 40 * 1024 ** 3 }])
  await expect(make({ image: layout, top: huge })).rejects.toMatchObject({ code: 'body_too_large' })
})
