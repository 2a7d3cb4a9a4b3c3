import { existsSync } from 'node:fs'
import { afterAll, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import type { SharedService } from '../helpers/shared-service.ts'
import { createWorkerService } from '../helpers/worker-service.ts'

const worker = createWorkerService()
const PROJECT = '/v1/projects/left'
let service: SharedService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

afterAll(() => worker.closeUnused())

test('the next test file gets the same service without the records of the first', async () => {
  service = await worker.use()
  await client.put(`${PROJECT}/quota`, { allowed: { boxes: 1 } })
  await client.post(`${PROJECT}/boxes`, { name: 'box', config: { ram_mb: 64 } })
  await client.post(`${PROJECT}/data`, { name: 'volume', size_gb: 0.1 })
  await client.post(`${PROJECT}/data/volume/attach`, { box: 'box', path: '/volume' })
  await client.post(`${PROJECT}/data/volume/snapshots`, { name: 'snapshot' })
  await client.post(`${PROJECT}/data/volume/backups?wait_seconds=25`)
  for (const shared of [true, false]) await client.post(`${PROJECT}/bases`, { name: 'base', box: 'box', shared })
  const minted = await client.post('/v1/tokens', { name: 'token', projects: ['left'], permissions: ['read'] })
  const { body: found } = await client.get('/v1/projects')
  expect(found.projects).toMatchObject([{ project: 'left', used: { boxes: 1 }, volumes: 1 }])
  await worker.endFile()

  const next = await worker.use()
  expect([next.agentPid, next.frontPid]).toEqual([service.agentPid, service.frontPid])
  const { body: left } = await client.get('/v1/projects')
  expect(left.projects).toEqual([])
  expect((await client.get(`${PROJECT}/quota`)).body).toMatchObject({ allowed: { boxes: null }, used: { boxes: 0 } })
  // The space of deleted resources is released a moment later.
  await eventually(async () => (await client.get(`${PROJECT}/quota`)).body.used.storage_gb === 0)
  expect((await client.get(`${PROJECT}/backups`)).body.backups).toEqual([])
  expect((await client.get('/v1/bases')).body.bases).toMatchObject([{ source: 'host' }])
  expect((await client.get('/v1/me', { token: minted.body.token })).status).toBe(401)
  await worker.endFile()
})

test('a test file that ends without an agent fails, and the next one gets another service', async () => {
  service = await worker.use()
  const { agentPid } = service
  await client.post(`${PROJECT}/boxes`, { name: 'box', config: { ram_mb: 64 } })
  process.kill(agentPid, 'SIGKILL')
  await eventually(() => !existsSync(`/proc/${agentPid}`))
  await expect(worker.endFile()).rejects.toThrow('Its agent has ended.')
  service = await worker.use()
  expect(service.agentPid).not.toBe(agentPid)
  expect((await client.get(`${PROJECT}/boxes`)).body.boxes).toEqual([])
  await worker.endFile()
})
