import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const box = '/v1/projects/large/boxes/it'

beforeAll(async () => {
  service = await startService()
  await client.post('/v1/projects/large/boxes', { name: 'it' })
})

afterAll(async () => {
  await service.close()
})

test('of many large commands at once some are refused with Retry-After, and the service goes on', async () => {
  const agent = service.agentPid
  const body = { shell: 'cat >/dev/null; sleep 2', stdin: 'x'.repeat(5_900_000) }
  const answers = await Promise.all(Array.from({ length: 60 }, () => client.post(`${box}/exec?wait_seconds=5`, body)))
  const refused = answers.filter(({ status }) => status === 429)
  const others = answers.filter(({ status }) => status >= 300 && status !== 429)
  expect(others.map(({ status, body: told }) => [status, told?.code, told?.detail])).toEqual([])
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]).toMatchObject({
    body: { code: 'rate_limited', retryable: true },
    headers: { 'retry-after': '1' },
  })
  expect((await client.post(`${box}/exec`, { ...body, no_hup: true })).status).toBe(202)
  expect(service.agentPid).toBe(agent)
})

test('a command too long to be kept in lists is refused', async () => {
  const command = ['true', ...Array.from({ length: 3 }, () => 'x'.repeat(100_000))]
  const answer = await client.post(`${box}/exec`, { command })
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/command' }] } })
  expect((await client.post(`${box}/exec`, { command: command.slice(0, 3) })).body.exit_code).toBe(0)
})
