import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
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

describe('on a terminal', () => {
  const operation = { id: 'opr_01m7yv0c5h8t2n4q6s8v0x2z4b', kind: 'base.import', error: null }
  const resource = '/v1/projects/demo/bases/told'
  const asked: string[] = []
  // A slow service.
  const server = createServer((request, answer) => {
    const { method, url = '' } = request
    request.resume()
    asked.push(`${method} ${url}`)
    const looks = asked.filter((each) => each.startsWith('GET /v1/operations/')).length
    const status = looks < 3 ? 'running' : 'done'
    const body = url === resource ? { name: 'told' } : { ...operation, resource, status, progress: 0.42 }
    answer.writeHead(method === 'POST' ? 202 : 200, {
      'content-type': 'application/json',
      'operation-location': `/v1/operations/${operation.id}`,
    })
    answer.end(JSON.stringify(body))
  })
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  test.each([
    ['--image', 'debian:12'],
    ['--image-tar', 'small.tar'],
  ])('an import by %s shows how far it is from the beginning', async (...source) => {
    asked.length = 0
    const BOXYARD_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const importing = cli.startInTerminal(['base', 'create', 'told', ...source], { env: { BOXYARD_URL } })
    expect((await importing.ended).code).toBe(0)
    expect(importing.shown()).toContain('Waiting for base.import of told: 42 %')
    expect(asked[0]).toMatch(/^POST \/v1\/projects\/demo\/bases\?(.*&)?wait_seconds=0(&|$)/)
  })
})
