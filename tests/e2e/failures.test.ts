import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../helpers/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { pidsOf, readWorld } from '../helpers/world.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/failures/boxes'

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
}, 60_000)

afterAll(async () => {
  await service.close()
}, 60_000)

/** From now on the agent fails at `fault`; an empty one lets it be. */
async function breakAt(fault: string): Promise<void> {
  await service.killAgent('SIGTERM')
  await service.startAgent({ TEST_FAULT: fault })
  process.kill(service.agentPid, 'SIGUSR2')
  await sleep(50)
}

describe('a step that fails', () => {
  test('a start that fails leaves a stopped box that says why, and can be resumed', async () => {
    await breakAt('runtime.start:throw:1')
    const created = await client.post(boxes, { name: 'unlucky' })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ status: 'stopped', state: { reason: 'failed' } })
    expect(created.body.state.message).toMatch(/^The start failed\./)
    expect(created.text).not.toContain('was made to fail')
    expect((await client.post(`${boxes}/unlucky/resume`)).body.status).toBe('running')
    expect((await client.delete(`${boxes}/unlucky`)).status).toBe(204)
  })

  test('a snapshot that fails does the same', async () => {
    await breakAt('filesystem.snapshot:throw:1')
    expect((await client.post(boxes, { name: 'rootless' })).body.state.reason).toBe('failed')
    expect((await client.post(`${boxes}/rootless/resume`)).body.status).toBe('running')
    await client.delete(`${boxes}/rootless`)
  })

  test('an operation that ended badly says so', async () => {
    await breakAt('runtime.start:throw:1')
    const created = await client.post(`${boxes}?wait_seconds=0`, { name: 'later' })
    const operation = await client.get(`${String(created.headers['operation-location'])}?wait_seconds=20`)
    expect(operation.body).toMatchObject({ kind: 'box.create', status: 'failed', error: { code: 'internal' } })
    await client.delete(`${boxes}/later`)
  })

  test('a wish that came while a step failed is not overruled by the failure', async () => {
    await breakAt('')
    await client.post(boxes, { name: 'torn' })
    await client.shell('failures', 'torn', `(trap '' TERM; sleep 600) >/dev/null 2>&1 & sleep 0.1`)
    await breakAt('runtime.stop:reject:1')
    const stopping = client.post(`${boxes}/torn/stop`)
    await sleep(100)
    const resumed = await client.post(`${boxes}/torn/resume`)
    await stopping
    expect(resumed.body.status).toBe('running')
    expect((await client.get(`${boxes}/torn`)).body.status).toBe('running')
    await client.delete(`${boxes}/torn`)
  })

  test('a stop that cannot be done leaves the box unknown, and is tried until it is', async () => {
    await breakAt('')
    const { body: box } = await client.post(boxes, { name: 'wedged' })
    await breakAt('runtime.stop:throw:1+')
    const stopped = await client.post(`${boxes}/wedged/stop`)
    expect(stopped.body.status).toBe('unknown')
    expect(pidsOf(service, box.id).length).toBeGreaterThan(0)
    await breakAt('')
    for (let attempt = 0; attempt < 100; attempt++) {
      if ((await client.get(`${boxes}/wedged`)).body.status === 'stopped') break
      await sleep(50)
    }
    expect((await client.get(`${boxes}/wedged`)).body.status).toBe('stopped')
    expect(pidsOf(service, box.id)).toEqual([])
  })

  test('a delete is never blocked by a wedged box, and health names what is left', async () => {
    await breakAt('')
    await client.post(boxes, { name: 'stuck' })
    await breakAt('runtime.stop:throw:1+')
    expect((await client.delete(`${boxes}/stuck`)).status).toBe(204)
    expect((await client.post(boxes, { name: 'stuck' })).status).toBe(201)
    await sleep(100)
    const health = (await client.get('/healthz')).body
    expect(health.status).toBe('degraded')
    expect(health.errors.map(({ code }: { code: string }) => code)).toContain('remains_not_destroyed')
    await breakAt('')
    for (let attempt = 0; attempt < 100 && (await client.get('/healthz')).body.status !== 'ok'; attempt++)
      await sleep(50)
    expect((await client.get('/healthz')).body.status).toBe('ok')
    await client.delete(`${boxes}/stuck`)
    await client.delete(`${boxes}/wedged`)
    for (let attempt = 0; attempt < 100 && readWorld(service).roots.length > 0; attempt++) await sleep(50)
    expect(readWorld(service)).toEqual({ running: [], states: [], roots: [], volumes: [] })
  }, 60_000)
})
