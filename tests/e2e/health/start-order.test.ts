import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const go = (): string => join(service.dataDir, 'go')

beforeAll(async () => {
  service = await startService({
    agentScript: 'tests/fixtures/late-edge-agent.ts',
    prepare: (dataDir) => writeFileSync(join(dataDir, 'go'), ''),
  })
})

afterAll(() => service.close())

test('the API answers, and boxes start, while the edge still starts; the agent is ready after it', async () => {
  await client.post('/v1/projects/order/boxes', { name: 'kept', config: { ram_mb: 64 } })
  await service.killAgent('SIGTERM')
  // Simulates a boot, where nothing runs.
  await service.runAgentMode('down')
  rmSync(go())
  let isReady = false
  const starting = service.startAgent().then(() => {
    isReady = true
  })
  await eventually(async () => (await client.get('/v1/projects/order/boxes/kept')).body?.status === 'running')
  expect((await client.get('/healthz')).body.status).toBe('ok')
  expect(isReady).toBe(false)
  writeFileSync(go(), '')
  await starting
})
