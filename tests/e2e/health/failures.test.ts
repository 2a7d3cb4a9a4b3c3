import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { limitsInForce, pidsOf, readWorld } from '../../helpers/boxes/world.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, restartAgent } from '../../helpers/fault-steps.ts'
import { createClient, DEAF } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/failures/boxes'

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
})

afterAll(async () => {
  await service.close()
})

describe('a step that fails', () => {
  test('a start that fails leaves a stopped box with the reason, which can be resumed', async () => {
    await armStep(service, at('runtime.start', 'throw'))
    const created = await client.post(boxes, { name: 'unlucky' })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ status: 'stopped', state: { reason: 'failed' } })
    expect(created.body.state.message).toMatch(/^The start failed\./)
    expect(created.text).not.toContain('was made to fail')
    expect((await client.post(`${boxes}/unlucky/resume`)).body.status).toBe('running')
    expect((await client.delete(`${boxes}/unlucky`)).status).toBe(204)
  })

  test.each([
    at('filesystem.snapshot', 'throw'),
    at('filesystem.snapshot', 'reject'),
    at('store.boxes.insert', 'throw'),
  ])('a create that fails at %s leaves no box, no root, and the name free', async (fault) => {
    await armStep(service, fault)
    const refused = await client.post(boxes, { name: 'rootless' })
    expect([refused.status, refused.body.code]).toEqual([500, 'internal'])
    expect((await client.get(`${boxes}/rootless`)).status).toBe(404)
    await eventually(() => readWorld(service).roots.length === 0, 20)
    expect(readWorld(service).roots).toEqual([])
    expect((await client.post(boxes, { name: 'rootless' })).body.status).toBe('running')
    await client.delete(`${boxes}/rootless`)
  })

  test('an attach whose mount fails leaves the volume free, one whose record fails does too', async () => {
    const data = '/v1/projects/failures/data'
    await armStep(service, '')
    await client.post(data, { name: 'vol', size_gb: 0.1 })
    await client.post(boxes, { name: 'taker' })
    for (const fault of MOUNTING) {
      await armStep(service, fault)
      expect((await client.post(`${data}/vol/attach`, { box: 'taker', path: '/vol' })).status).toBe(500)
      expect((await client.get(`${data}/vol`)).body.attachments).toEqual([])
      expect((await client.shell('failures', 'taker', 'grep -c /vol_ /proc/self/mountinfo')).body.stdout).toBe('0\n')
    }
  })

  test('a detach or update that fails at its last write changes nothing', async () => {
    const data = '/v1/projects/failures/data'
    await armStep(service, '')
    await client.post(`${data}/vol/attach`, { box: 'taker', path: '/vol' })
    await client.shell('failures', 'taker', 'echo kept > /vol/file')
    await armStep(service, at('store.boxes.replaceMounts', 'throw'))
    expect((await client.post(`${data}/vol/detach`, { box: 'taker' })).status).toBe(500)
    expect((await client.get(`${data}/vol`)).body.attachments).toHaveLength(1)
    await untilTrue(async () => (await client.shell('failures', 'taker', 'cat /vol/file')).body.stdout === 'kept\n')
    await armStep(service, at('store.boxes.replace', 'throw'))
    const { body: box } = await client.get(`${boxes}/taker`)
    expect((await client.put(`${boxes}/taker`, { config: { ram_mb: 1024, cpus: 2 } })).status).toBe(500)
    expect((await client.get(`${boxes}/taker`)).body).toEqual(box)
    // The agent restores one limit after the other.
    const recorded = { ramMb: box.config.ram_mb, cpus: box.config.cpus }
    await untilTrue(() => isDeepStrictEqual(limitsInForce(service, box.id), recorded))
    await client.delete(`${boxes}/taker`)
    expect((await client.delete(`${data}/vol`)).status).toBe(204)
  })

  test('a failed operation is reported', async () => {
    await armStep(service, at('runtime.start', 'reject'))
    const created = await client.post(`${boxes}?wait_seconds=0`, { name: 'later' })
    const operation = await client.get(`${String(created.headers['operation-location'])}?wait_seconds=20`)
    expect(operation.body).toMatchObject({ kind: 'box.create', status: 'failed', error: { code: 'internal' } })
    await client.delete(`${boxes}/later`)
  })

  test('a request that arrives while a step fails is not overruled by the failure', async () => {
    await armStep(service, '')
    await client.post(boxes, { name: 'torn' })
    await client.shell('failures', 'torn', DEAF)
    await armStep(service, at('runtime.stop', 'reject'))
    const stopping = client.post(`${boxes}/torn/stop`)
    await eventually(async () => (await client.get(`${boxes}/torn`)).body.state.reason === 'stopping')
    const resumed = await client.post(`${boxes}/torn/resume`)
    await stopping
    expect([200, 202]).toContain(resumed.status)
    await client.until(`${boxes}/torn`, ({ body }) => body.status === 'running')
    await client.delete(`${boxes}/torn`)
  })

  test('a failing stop leaves the box unknown, and is retried until it succeeds', async () => {
    await armStep(service, '')
    const { body: box } = await client.post(boxes, { name: 'wedged' })
    await armStep(service, at('runtime.stop', 'throw', '1+'))
    const stopped = await client.post(`${boxes}/wedged/stop`)
    expect(stopped.body.status).toBe('unknown')
    expect(pidsOf(service, box.id).length).toBeGreaterThan(0)
    await restartAgent(service, 'SIGTERM')
    await client.until(`${boxes}/wedged`, ({ body }) => body.status === 'stopped')
    expect((await client.get(`${boxes}/wedged`)).body.status).toBe('stopped')
    expect(pidsOf(service, box.id)).toEqual([])
  })

  test('a delete is never blocked by a wedged box, and health names the leftovers', async () => {
    await armStep(service, '')
    await client.post(boxes, { name: 'stuck' })
    await armStep(service, at('runtime.stop', 'throw', '1+'))
    expect((await client.delete(`${boxes}/stuck`)).status).toBe(204)
    expect((await client.post(boxes, { name: 'stuck' })).status).toBe(201)
    await eventually(async () => (await client.get('/healthz')).text.includes('remains_not_destroyed'))
    expect((await client.get('/healthz')).body.status).toBe('degraded')
    await restartAgent(service, 'SIGTERM')
    await eventually(async () => (await client.get('/healthz')).body.status === 'ok')
    expect((await client.get('/healthz')).body.status).toBe('ok')
    await client.delete(`${boxes}/stuck`)
    await client.delete(`${boxes}/wedged`)
    await eventually(() => readWorld(service).roots.length === 0)
    expect(readWorld(service)).toEqual({ running: [], states: [], roots: [], volumes: [] })
  })
})

const MOUNTING = [
  at('runtime.attach', 'throw'),
  at('runtime.attach', 'reject'),
  at('store.boxes.replaceMounts', 'throw'),
]
