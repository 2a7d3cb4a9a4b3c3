import { afterEach, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/memory/boxes'
const MIB = 1024 ** 2

afterEach(async () => {
  await service.close()
})

test('running boxes are promised no more memory than the host may promise', async () => {
  service = await startService({ settings: { BOXYARD_MEMORY_OVERCOMMIT: '0.05' } })
  const { limits } = (await client.get('/v1/config')).body
  expect(limits.memory_overcommit).toBe(0.05)
  const total = (await client.get('/healthz')).body.host.memory.total_bytes
  const promisable = Math.floor((total * 0.05) / MIB)
  const config = { ram_mb: Math.floor(promisable / 2) + 1 }
  expect((await client.post(boxes, { name: 'one', config })).status).toBe(201)
  const refused = await client.post(boxes, { name: 'two', config })
  expect([refused.status, refused.body.code]).toEqual([403, 'quota_exceeded'])
  expect(refused.body.detail).toContain(`${config.ram_mb} of ${promisable} MiB are promised`)
  const grown = await client.call('PUT', `${boxes}/one`, { body: { config: { ram_mb: promisable + 1 } } })
  expect([grown.status, grown.body.code]).toEqual([403, 'quota_exceeded'])
  await client.post(`${boxes}/one/stop`)
  expect((await client.post(boxes, { name: 'two', config })).status).toBe(201)
  const resumed = await client.post(`${boxes}/one/resume`)
  expect([resumed.status, resumed.body.code]).toEqual([403, 'quota_exceeded'])
  await client.delete(`${boxes}/two`)
  expect((await client.post(`${boxes}/one/resume`)).body.status).toBe('running')
})
