import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseImageReference } from '../../../agent/core/bases/image-reference.ts'
import { createImageRegistry } from '../../../agent/drivers/registry/image-registry.ts'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { type LayoutDescriptor, newImage } from '../../helpers/bases/image-archive.ts'
import { startRegistry, type TestRegistry } from '../../helpers/bases/registry.ts'

let registry: TestRegistry
const image = newImage()
const layer = image.addLayer(
  tarOf([
    { name: 'bin/sh', body: 'here' },
    { name: 'large', body: Buffer.alloc(300_000) },
  ]),
  'tar',
)
const upper = image.addLayer(tarOf([{ name: 'upper', body: 'upper' }]), 'gzip')
const other = image.addManifest([image.addLayer(tarOf([{ name: 'bin/sh', body: 'other' }]), 'zstd')], {
  platform: { os: 'linux', architecture: 'arm64' },
})
// The same layer twice, as in images that add the same content twice.
const here = image.addManifest([layer, upper, upper], { platform: { os: 'linux', architecture: 'amd64' } })
const index = image.addIndex([other, here])

beforeAll(async () => {
  registry = await startRegistry()
  await registry.push('some/tool', image, { tag: '1.0', top: index })
  await registry.push('some/tool', image, { tag: 'single', top: here })
})

afterAll(async () => {
  await registry.close()
})

async function find(reference: string, { architecture = 'amd64', maxBytes = 1e9 } = {}) {
  const images = createImageRegistry({ named: [registry.url], now: Date.now })
  const { signal } = new AbortController()
  return images.find(parseImageReference(`${registry.host}/${reference}`), { architecture, maxBytes, signal })
}

async function partsOf(reference: string, architecture?: string): Promise<string[]> {
  const found = await find(reference, architecture === undefined ? {} : { architecture })
  try {
    const archive = await buffer(found.archive())
    const names: string[] = []
    for (let at = 0; archive[at] !== 0; ) {
      const name = archive.toString('latin1', at, at + 100).replace(/\0+$/, '')
      const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
      if (name.startsWith('blobs/')) {
        const digest = name.replace('blobs/sha256/', 'sha256:')
        expect(archive.subarray(at + 512, at + 512 + size).equals(image.parts.get(digest) ?? Buffer.from('?'))).toBe(
          true,
        )
        names.push(digest)
      }
      at += 512 + Math.ceil(size / 512) * 512
    }
    return names
  } finally {
    found.close()
  }
}

const digestsOf = (...parts: LayoutDescriptor[]): string[] => parts.map(({ digest }) => digest)

test.each([
  ['a tag', () => 'some/tool:1.0'],
  ['a digest', () => `some/tool@${index.digest}`],
  ['both, of which the digest counts', () => `some/tool:missing@${index.digest}`],
  ['the digest of the image for this host', () => `some/tool@${here.digest}`],
  ['a tag of the image alone', () => 'some/tool:single'],
])('an image is found by %s, and each part is fetched once', async (_what, reference) => {
  expect(await partsOf(reference())).toEqual(digestsOf(here, layer, upper))
})

test('the requested platform of a multi-platform image is chosen', async () => {
  expect((await partsOf('some/tool:1.0', 'arm64'))[0]).toBe(other.digest)
  await expect(find('some/tool:1.0', { architecture: 's390x' })).rejects.toMatchObject({ code: 'invalid_request' })
})

test('a resolved image has its digest and size', async () => {
  const found = await find('some/tool:1.0')
  expect([found.digest, found.sizeBytes]).toEqual([index.digest, layer.size + upper.size])
  found.close()
})

test('an image above the size limit is not fetched', async () => {
  await expect(find('some/tool:1.0', { maxBytes: 100_000 })).rejects.toMatchObject({ code: 'body_too_large' })
})

test.each(['some/tool:missing', `some/tool@sha256:${'0'.repeat(64)}`, 'no/such:1'])(
  '%s is not found',
  async (reference) => {
    await expect(find(reference)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/image', detail: expect.stringContaining('no such image') }],
    })
  },
)
