import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' } })
})

afterAll(() => service.close())

const askedWith = async (token: string): Promise<[number, string | undefined]> => {
  const { status, body } = await client.get('/v1/me', { token })
  return [status, body.code]
}

test("the administrator's token ends in 30 days", async () => {
  const { body } = await client.get('/v1/me')
  expect(body).toMatchObject({ name: 'admin', permissions: ['read', 'write', 'exec', 'ports', 'admin'] })
  expect((Date.parse(body.expires_at) - Date.now()) / 86_400_000).toBeCloseTo(30, 1)
})

test.each(['running', 'stopped'])('an operator replaces it while the agent is %s', async (state) => {
  if (state === 'stopped') await service.killAgent('SIGTERM')
  const [first, told] = [service.adminToken, await service.runAgentMode('admin', 'renew')]
  expect(told).toMatch(/Wrote a new token to .*admin\.token\. It expires at \d{4}-\d\d-\d\dT/)
  const second = service.adminToken
  expect(second).not.toBe(first)
  await service.runAgentMode('admin', 'renew', '--revoke')
  if (state === 'stopped') await service.startAgent()
  expect(await askedWith(first)).toEqual([200, undefined])
  expect(await askedWith(second)).toEqual([401, 'token_revoked'])
  expect(await askedWith(service.adminToken)).toEqual([200, undefined])
})

test.each(['renew', 'reload', 'down'])(
  'admin %s tells how it is used, and refuses what it does not know',
  async (mode) => {
    expect(await service.runAgentMode('admin', mode, '--help')).toContain(`Usage: ${mode}`)
    await expect(service.runAgentMode('admin', mode, '--wrong')).rejects.toThrow(/--wrong/)
  },
)
