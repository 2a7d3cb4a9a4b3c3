import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../helpers/front/client.ts'
import { type Offline, startOffline } from '../helpers/front/offline.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { defineTicketsSuite } from './access/tickets-suite.ts'
import { defineSpecificationSuite } from './specification-suite.ts'

// Every front must pass requests and responses unchanged (tests/contract/front). This test does so with real boxes.
let service: TestService
let offline: Offline
const client = createClient(
  () => offline.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ front: false })
  offline = await startOffline(service.environment)
})

afterAll(async () => {
  await offline?.close()
  await service?.close()
})

describe('through serverless-offline', () => {
  defineSpecificationSuite(client)
  defineTicketsSuite(client, {
    url: () => service.dataUrl,
    token: () => service.adminToken,
    logs: () => [...service.logs, ...offline.said],
  })

  test('a WebSocket is refused, with a hint at tickets', async () => {
    const answer = await client.get('/v1/projects/run/boxes/it/exec/ws?command=id')
    expect([answer.status, answer.body.code]).toEqual([426, 'upgrade_required'])
    expect(answer.body.detail).toContain('ticket')
  })
})
