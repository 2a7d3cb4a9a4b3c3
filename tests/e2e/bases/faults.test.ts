import { type ClientRequest, request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { newImage } from '../../helpers/bases/image-archive.ts'
import { type ScriptedRegistry, startScriptedRegistry } from '../../helpers/bases/scripted-registry.ts'
import { basesOf } from '../../helpers/boxes/world.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { armStep, at, restartAgent, untilDead } from '../../helpers/fault-steps.ts'
import { type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let registry: ScriptedRegistry
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const bases = '/v1/projects/faults/bases'

// Sends half of its layer, and the rest once the test calls `rest`.
const image = newImage()
const layer = image.addLayer(tarOf([{ name: 'bin/sh' }, { name: 'large', body: Buffer.alloc(3_000_000, 'z') }]), 'tar')
let rest: () => void = () => undefined

beforeAll(async () => {
  registry = await startScriptedRegistry({ image, top: image.addManifest([layer]) }, (path, _request, response) => {
    if (!path.endsWith(layer.digest)) return false
    const bytes = image.parts.get(layer.digest) ?? Buffer.alloc(0)
    response.writeHead(200).write(bytes.subarray(0, 1_500_000))
    rest = () => void response.end(bytes.subarray(1_500_000))
    return true
  })
  service = await startService({
    agentScript: 'tests/fixtures/faulty-agent.ts',
    settings: { BOXYARD_BASE_REGISTRIES: registry.url },
  })
})

afterAll(async () => {
  await service.close()
  await registry.close()
})

describe('an upload', () => {
  const begin = async (query: Record<string, string> = {}): Promise<ClientRequest> => {
    const ask = { operation: 'createBase', query: { name: 'base', ...query } }
    const { url, method } = (await client.post('/v1/projects/faults/tickets', ask)).body
    const request = httpRequest(url, { method, headers: { 'content-type': 'application/x-tar' } })
    request.on('error', () => undefined)
    request.write(tarOf([{ name: 'bin/sh' }, { name: 'large', body: Buffer.alloc(3_000_000, 'z') }]).subarray(0, 2e6))
    await eventually(async () => basesOf(service).length > (await recorded()).length)
    return request
  }

  test.each([{}, { image: 'true' }])('that breaks off leaves nothing: %j', async (query) => {
    const request = await begin(query)
    request.destroy()
    await expectAgreement()
    expect((await client.get(`${bases}/base`)).status).toBe(404)
  })

  test.each([{}, { image: 'true' }])('that is under way when the agent is killed leaves nothing: %j', async (query) => {
    const request = await begin(query)
    await restartAgent(service, 'SIGKILL')
    request.destroy()
    await expectAgreement()
    expect((await client.get(`${bases}/base`)).status).toBe(404)
  })
})

describe('an image that is being unpacked', () => {
  const begin = async (): Promise<string> => {
    const many = newImage()
    const large = Array.from({ length: 40_000 }, (_, index) => ({ name: `many/${index}` }))
    const part = many.addLayer(tarOf([{ name: 'bin/sh' }, ...large]), 'gzip')
    const ask = { operation: 'createBase', query: { name: 'base', image: 'true', wait_seconds: '0' } }
    const { url, method } = (await client.post('/v1/projects/faults/tickets', ask)).body
    const body = new Uint8Array(many.archive([many.addManifest([part])]))
    const answer = await fetch(url, { method, body, headers: { 'content-type': 'application/x-tar' } })
    expect(answer.status).toBe(202)
    return String(answer.headers.get('operation-location'))
  }

  test('when the agent is killed leaves nothing, and its operation has failed', async () => {
    const path = await begin()
    await restartAgent(service, 'SIGKILL')
    await expectAgreement()
    const followed = (await client.get(path)).body
    expect(followed).toMatchObject({ kind: 'base.import', status: 'failed', resource: `${bases}/base` })
    expect((await client.get(`${bases}/base`)).status).toBe(404)
  })

  test('is ended by deleting its base, which leaves nothing', async () => {
    const path = await begin()
    expect((await client.delete(`${bases}/base`)).status).toBe(204)
    const ended = (await client.get(`${path}?wait_seconds=25`)).body
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'base_not_found' } })
    expect((await client.get(`${bases}/base`)).status).toBe(404)
    await expectAgreement()
  })
})

describe('a pull', () => {
  const begin = async (): Promise<string> => {
    const body = { name: 'base', image: `${registry.host}/it:1` }
    const answer = await client.post(`${bases}?wait_seconds=0`, body)
    expect([answer.status, answer.body.kind]).toEqual([202, 'base.import'])
    const path = String(answer.headers['operation-location'])
    // The layer is half of the image, and its download is half of the work.
    await eventually(async () => (await client.get(path)).body.progress > 0.2)
    expect((await client.get(path)).body).toMatchObject({ status: 'running', resource: `${bases}/base`, error: null })
    expect((await client.get(path)).body.progress).toBeLessThan(0.3)
    return path
  }

  test('that is under way when the agent is killed leaves nothing, and its operation has failed', async () => {
    const path = await begin()
    await restartAgent(service, 'SIGKILL')
    await expectAgreement()
    expect((await client.get(path)).body).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect((await client.get(`${bases}/base`)).status).toBe(404)
  })

  test('that is under way when the agent is stopped ends with it, and leaves nothing', async () => {
    const path = await begin()
    await restartAgent(service, 'SIGTERM')
    await expectAgreement()
    expect((await client.get(path)).body).toMatchObject({ status: 'failed', error: { code: 'internal' } })
  })

  test('is ended by deleting its base, which leaves nothing; then the name is free', async () => {
    const path = await begin()
    expect((await client.delete(`${bases}/base`)).status).toBe(204)
    expect((await client.delete(`${bases}/base`)).status).toBe(404)
    const ended = (await client.get(`${path}?wait_seconds=25`)).body
    expect(ended).toMatchObject({ status: 'failed', progress: null, error: { code: 'base_not_found' } })
    await expectAgreement()
    const again = await begin()
    rest()
    expect((await client.get(`${again}?wait_seconds=25`)).body).toMatchObject({ status: 'done' })
    await expectAgreement()
    await client.delete(`${bases}/base`)
  })

  test('is complete or leaves nothing when the agent is killed at any moment', async () => {
    for (const step of [at('registry.find', 'after'), at('files.unpack', 'after'), at('files.unpackLayer', 'after')]) {
      await armStep(service, step)
      const { headers } = await client.post(`${bases}?wait_seconds=0`, { name: 'base', image: `${registry.host}/it:1` })
      const finishing = setInterval(() => rest(), 50)
      await untilDead(service.agentPid).finally(() => clearInterval(finishing))
      await restartAgent(service, 'SIGKILL')
      await expectAgreement()
      if (headers['operation-location'] !== undefined)
        expect((await client.get(String(headers['operation-location']))).body.status).toBe('failed')
      expect((await client.get(`${bases}/base`)).status).toBe(404)
    }
  })
})

/** Checks that the pool has exactly the bases of the records. */
async function expectAgreement(): Promise<void> {
  await untilSucceeds(async () => expect(await recorded()).toEqual(basesOf(service)), 60_000)
}

async function recorded(): Promise<string[]> {
  const lists = [await client.get(bases), await client.get('/v1/bases')]
  return lists.flatMap(({ body }) => body.bases.map(({ id }: { id: string }) => id)).sort()
}
