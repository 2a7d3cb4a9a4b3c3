import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { newImage } from '../../helpers/bases/image-archive.ts'
import { startRegistry, type TestRegistry } from '../../helpers/bases/registry.ts'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

let registry: TestRegistry | null = null
const own = useOwnService(async () => {
  registry = await startRegistry()
  return { settings: { BOXYARD_BASE_REGISTRIES: registry.url } }
})
const cli = useCommandLine(own)

beforeAll(async () => {
  await cli.run(['create', 'packed'])
  const { bytes } = await cli.client.get('/v1/projects/demo/boxes/packed/files/archive?path=/')
  const image = newImage()
  const top = image.addManifest([image.addLayer(bytes, 'zstd')])
  await registry?.push('tools/small', image, { tag: '1', top })
  writeFileSync(join(cli.directory(), 'small.tar'), image.archive([top]))
})

afterAll(() => registry?.close())

test.each([
  [
    'a registry',
    'pulled',
    () => ['--image', `${registry?.host}/tools/small:1`],
    /^oci:127\.0\.0\.1:\d+\/tools\/small:1@sha256:/,
  ],
  ['an archive', 'loaded', () => ['--image-tar', 'small.tar'], /^oci$/],
] as const)('a base is made of an image of %s, and boxes of it', async (_of, name, source, origin) => {
  const made = await cli.run(['base', 'create', name, ...source(), '-o', 'json'])
  expect(made).toMatchObject({ code: 0 })
  expect(JSON.parse(made.stdout)).toMatchObject({ name, source: expect.stringMatching(origin) })
  expect(await cli.run(['create', `of-${name}`, '--base', name])).toMatchObject({ code: 0 })
  expect(await cli.run(['exec', `of-${name}`, 'echo', 'hi'])).toMatchObject({ code: 0, stdout: 'hi\n' })
})

test('an image that is not there is told, and makes no base', async () => {
  const { code, stderr } = await cli.run(['base', 'create', 'none', '--image', `${registry?.host}/tools/none:1`])
  expect([code, stderr]).toEqual([1, expect.stringContaining('no such image')])
  expect((await cli.run(['base', 'ls', '-o', 'name'])).stdout).not.toContain('none')
})
