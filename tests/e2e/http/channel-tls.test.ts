import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { request } from 'undici'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const directory = mkdtempSync(join(tmpdir(), 'boxyard-tls-'))
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  makeCertificate(directory, 'authority')
  makeCertificate(directory, 'member', 'authority')
  service = await startService({
    settings: {
      BOXYARD_CHANNEL_CA: join(directory, 'authority.crt'),
      BOXYARD_CHANNEL_CERT: join(directory, 'member.crt'),
      BOXYARD_CHANNEL_KEY: join(directory, 'member.key'),
      BOXYARD_DATA_CERT: join(directory, 'member.crt'),
      BOXYARD_DATA_KEY: join(directory, 'member.key'),
    },
  })
})

afterAll(async () => {
  await service.close()
  rmSync(directory, { recursive: true })
})

test('a deployment with mutual TLS on its channel works, and its agent refuses clients without a certificate', async () => {
  expect((await client.get('/v1/me')).status).toBe(200)
  await expect(request(service.agentUrl.replace('http:', 'https:'))).rejects.toThrow()
  await expect(request(service.agentUrl)).rejects.toThrow()
})

test('WebSockets pass the channel, and tickets lead to a data address with TLS', async () => {
  const box = '/v1/projects/secure/boxes/it'
  await client.post('/v1/projects/secure/boxes', { name: 'it' })
  const through = await openStream(`${service.url}${box}/exec/ws?command=id`, { token: service.adminToken })
  await through.closed
  expect(through.text(1)).toContain('uid=0')
  const ticket = await client.post(`${box}/tickets`, { operation: 'streamExec', query: { command: 'id' } })
  expect(ticket.body.url).toMatch(/^wss:/)
  const direct = await openStream(ticket.body.url, { ca: readFileSync(join(directory, 'authority.crt')) })
  await direct.closed
  expect(direct.text(1)).toContain('uid=0')
  await client.delete(box)
})
