import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { newId } from '../../../shared/ids.ts'
import { readWorld } from '../../helpers/boxes/world.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/lost/boxes'
const data = '/v1/projects/lost/data'

beforeAll(async () => {
  service = await startService()
})

afterAll(async () => {
  await service.close()
})

test('a pool and a database that differ are reported, and neither loses more data', async () => {
  const { body: box } = await client.post(boxes, { name: 'forgotten' })
  await client.post(`${boxes}/forgotten/stop`)
  const { body: volume } = await client.post(data, { name: 'there', size_gb: 0.1 })
  await service.killAgent('SIGTERM')
  const lostId = newId('vol', Date.now())
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'))
  database.exec(`DELETE FROM boxes WHERE name = 'forgotten'`)
  database
    .prepare(
      `INSERT INTO volumes (id, project, name, version, record)
       SELECT ?1, project, 'gone', 1, json_set(record, '$.id', ?1, '$.name', 'gone', '$.subvolume', ?1) FROM volumes`,
    )
    .run(lostId)
  database.close()
  await service.startAgent()

  const health = (await client.get('/healthz')).body
  expect(health.status).toBe('degraded')
  expect(health.problems.map(({ code }: { code: string }) => code).sort()).toEqual([
    'missing_subvolumes',
    'unknown_subvolumes',
  ])
  expect(JSON.stringify(health.problems)).toContain(lostId)
  // The original specification has errors as strings only.
  expect(health.errors).toEqual([
    expect.stringMatching(/^\S.*\. Remedy: \S.*\.$/),
    expect.stringMatching(/^\S.*\. Remedy: \S.*\.$/),
  ])
  expect(health.errors.join()).toContain(lostId)
  expect((await client.post(boxes, { name: 'forgotten' })).status).toBe(201)
  expect(readWorld(service).roots).toContain(box.id)

  const listed = (await client.get(data)).body.volumes
  expect(listed.map(({ name, used_bytes }: { name: string; used_bytes: number | null }) => [name, used_bytes])).toEqual(
    [
      ['gone', null],
      ['there', volume.used_bytes],
    ],
  )
  expect((await client.delete(`${data}/gone`)).status).toBe(204)
  expect((await client.get(`${data}/there`)).status).toBe(200)
})
