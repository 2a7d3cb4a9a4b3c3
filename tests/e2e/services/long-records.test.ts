import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { RECORD_BYTES } from '../../../agent/core/common/admission.ts'
import { recordGrowth } from '../../../agent/core/common/record-bytes.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { ServiceRecord } from '../../../agent/ports/store/services.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { serviceRecord } from '../../helpers/services/records.ts'

const KIB = 1024
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService()
}, 120_000)

afterAll(() => service.close(), 120_000)

const call = async (method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await client.call(method, `/v1/projects/${path}`, {
    token: service.adminToken,
    body,
  })
  return { status, code: answer?.code, pointer: answer?.errors?.[0]?.pointer, answer }
}

/** Returns an environment with the maximum number of variables, of about this size. */
function environmentOf(bytes: number): Record<string, string> {
  const value = 'x'.repeat(Math.floor(bytes / 500) - 10)
  return Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`V${String(index).padStart(3, '0')}`, value]))
}

function stoppedBox(project: string, name: string, environment: Record<string, string>): BoxRecord {
  const record = boxRecord({ id: newId('box', Date.now()), project, name, environment })
  const desired = { power: 'stopped' as const, generation: 1 }
  return {
    ...record,
    desired,
    observed: { ...record.observed, status: 'stopped', reason: 'stopped_by_request', generation: 1 },
  }
}

/** Writes stopped boxes with services directly to the database, in one commit. */
function writeDirectly(
  write: (insert: { box(record: BoxRecord): void; service(record: ServiceRecord): void }) => void,
) {
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'), { timeout: 10_000 })
  const box = database.prepare(
    "INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, 1, 'stopped', ?)",
  )
  const insert = database.prepare(
    'INSERT INTO services (box_id, name, version, record, outline) VALUES (?, ?, 1, ?, ?)',
  )
  database.exec('BEGIN IMMEDIATE')
  write({
    box: (record) => void box.run(record.id, record.project, record.name, JSON.stringify(record)),
    service: (record) => {
      const { boxId, name, spec } = record
      const outline = JSON.stringify({ ...record, spec: { port: spec.port, needs: spec.needs } })
      insert.run(boxId, name, JSON.stringify(record), outline)
    },
  })
  database.exec('COMMIT')
  database.close()
}

/** Fills a project's share with boxes whose environment has `boxBytes`, each with 64 services of `serviceBytes`. */
function fill(project: string, most: number, [boxBytes, serviceBytes]: [number, number]): void {
  writeDirectly((insert) => {
    let held = 0
    for (let index = 0; ; index++) {
      const box = stoppedBox(project, `b${index}`, environmentOf(boxBytes))
      const env = serviceBytes === 0 ? {} : environmentOf(serviceBytes)
      const services = Array.from({ length: 64 }, (_, number) =>
        serviceRecord({ command: ['true'], env }, { boxId: box.id, name: `s${number}` }),
      )
      held += recordGrowth(null, box) + services.reduce((sum, each) => sum + recordGrowth(null, each), 0)
      if (held > most) return
      insert.box(box)
      for (const each of services) insert.service(each)
    }
  })
}

describe('what one record may say', () => {
  const long = { A: 'x'.repeat(30_000), B: 'x'.repeat(30_000), C: 'x'.repeat(30_000), D: 'x'.repeat(30_000) }
  const tooLong = { ...long, E: 'x'.repeat(12_000) }

  test('is bounded, and a refusal points at the environment', async () => {
    const refusal = { status: 400, code: 'invalid_request' }
    expect(await call('POST', 'demo/boxes', { name: 'web', environment: tooLong })).toMatchObject({
      ...refusal,
      pointer: '/environment',
    })
    expect((await call('POST', 'demo/boxes', { name: 'web', environment: long })).status).toBe(201)
    expect(await call('PUT', 'demo/boxes/web', { environment: tooLong })).toMatchObject({
      ...refusal,
      pointer: '/environment',
    })
    const command = ['sleep', '1000', 'x'.repeat(12_000)]
    const put = (body: object) => call('PUT', 'demo/boxes/web/services/s', body)
    expect(await put({ command, env: long })).toMatchObject({ ...refusal, pointer: '/env' })
    const readiness = { command }
    expect(await put({ command: ['sleep', '1000'], env: long, readiness })).toMatchObject({
      ...refusal,
      pointer: '/env',
    })
    expect((await put({ command: ['sleep', '1000'], env: long })).status).toBeLessThan(300)
    const deploy = (body: object) => call('POST', 'demo/boxes/web/services/s/deploy', body)
    expect(await deploy({ command })).toMatchObject({ ...refusal, pointer: '/command' })
    expect(await deploy({ env: tooLong })).toMatchObject({ ...refusal, pointer: '/env' })
    expect((await deploy({ command, env: {} })).status).toBeLessThan(300)
    expect((await client.get('/v1/config')).body.limits.definition_bytes).toBe(128 * KIB)
  })

  test('leaves longer records of earlier versions as they are', async () => {
    const environment = environmentOf(600_000)
    const old = stoppedBox('demo', 'old', {})
    writeDirectly((insert) => {
      insert.box(old)
      insert.service(serviceRecord({ command: ['true'], env: environment }, { boxId: old.id, name: 's' }))
    })
    const { answer } = await call('GET', 'demo/boxes/old/services/s')
    expect(answer.spec.env).toEqual(environment)
    const put = { command: ['true'], env: { SHORT: 'now' } }
    expect((await call('PUT', 'demo/boxes/old/services/s?wait_seconds=0', put)).status).toBe(200)
    expect((await call('DELETE', 'demo/boxes/old')).status).toBeLessThan(300)
  })
})

describe('as many long records as there may be', () => {
  beforeAll(async () => {
    await service.killAgent()
    // Adds long environments for boxes with many services, and short variables, which take more space as objects than as text.
    fill('loud', RECORD_BYTES / 2, [100 * KIB, 0])
    fill('louder', RECORD_BYTES / 4, [8 * KIB, 8 * KIB])
    fill('loudest', RECORD_BYTES / 8, [100 * KIB, 60 * KIB])
  }, 120_000)

  test('let the agent start, and serve metrics', async () => {
    await service.startAgent()
    // The page omits a metric that takes too long. On a busy host this can happen while the agent still checks the services.
    await untilSucceeds(async () => {
      const answer = await fetch(service.metricsUrl)
      expect(answer.status).toBe(200)
      expect(await answer.text()).toMatch(/^boxyard_services\{state="stopped"\} \d{4}/m)
    }, 240_000)
  }, 300_000)

  test('let previews in forks come and go', async () => {
    const deploy = { isolation: 'fork', env: {}, command: ['sleep', '1000'] }
    expect((await call('POST', 'demo/boxes/web/services/s/deploy?wait_seconds=20', deploy)).status).toBeLessThan(300)
    expect((await call('POST', 'demo/boxes/web/services/s/discard')).status).toBe(200)
  }, 60_000)

  test('leave room to others, and none to their own project until it gets shorter', async () => {
    const name = { name: 'one-more', environment: environmentOf(100 * KIB) }
    const refused = await call('POST', 'loud/boxes', name)
    expect(refused).toMatchObject({ status: 403, code: 'quota_exceeded' })
    expect(refused.answer.detail).toMatch(/records .* "loud"/)
    const put = { command: ['true'], env: environmentOf(100 * KIB) }
    expect(await call('PUT', 'loud/boxes/b0/services/s0', put)).toMatchObject({ status: 403, code: 'quota_exceeded' })
    expect((await call('POST', 'quiet/boxes', { ...name, config: { ram_mb: 64, storage_gb: 0.1 } })).status).toBe(201)
    const shorter = { environment: {} }
    expect((await call('PUT', 'loud/boxes/b0', shorter)).status).toBe(200)
    expect((await call('POST', 'loud/boxes/b0/services/s1/stop')).status).toBeLessThan(300)
    const others = Array.from({ length: 90 }, (_, index) => `loud/boxes/b${index + 1}`)
    for (const box of others) expect((await call('DELETE', box)).status).toBeLessThan(300)
    expect((await call('PUT', 'loud/boxes/b0/services/s0?wait_seconds=0', put)).status).toBe(200)
  }, 60_000)
})
