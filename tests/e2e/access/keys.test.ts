import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { request } from 'undici'
import { AGENT_RUN_HEADER, createSigner, SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { type ChannelKeySet, parseChannelKeys, parseTokenKeys } from '../../../shared/auth/keys.ts'
import { eventually } from '../../helpers/eventually.ts'
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

const statusWith = async (token: string): Promise<number> => (await client.get('/v1/me', { token })).status
const issue = async (...options: string[]): Promise<string> =>
  (await service.runAgentMode('token', ...options)).trim().split('\n').at(-1) ?? ''
const readKeys = (): ChannelKeySet => parseChannelKeys(readFileSync(join(service.dataDir, 'keys/channel.json'), 'utf8'))

const changedAt = (name: string): number =>
  statSync(join(service.dataDir, 'keys', name), { throwIfNoEntry: false })?.mtimeMs ?? 0

const run: Record<string, string> = {}

/** Sends the agent a request as a front with these keys does, and returns the status. */
async function askWith(set: ChannelKeySet): Promise<number> {
  const asked = { method: 'GET', target: '/v1/me', headers: { authorization: `Bearer ${service.adminToken}`, ...run } }
  const signer = createSigner({ keys: () => set.keys, agentId: () => set.agent_id, now: () => Date.now() })
  const signature = signer(asked, new Uint8Array(0))
  const answer = await request(`${service.agentUrl}/v1/me`, {
    headers: { ...asked.headers, [SIGNATURE_HEADER]: signature },
  })
  await answer.body.dump()
  const told = answer.headers[AGENT_RUN_HEADER]
  if (typeof told !== 'string') return answer.statusCode
  run[AGENT_RUN_HEADER] = told
  return askWith(set)
}

test('keys rotate while serving: new ones sign, old ones verify until they are dropped', async () => {
  const old = service.adminToken
  await service.runAgentMode('keys', 'rotate', 'channel')
  await service.runAgentMode('keys', 'rotate', 'token')
  expect(await statusWith(old)).toBe(200)
  const minted = await client.post('/v1/tokens', { name: 'new', projects: '*', permissions: ['read'] })
  await eventually(async () => (await statusWith(minted.body.token)) === 200)
  const fresh = await issue('--name', 'second')
  await eventually(async () => (await statusWith(fresh)) === 200)
  expect((await client.get('/v1/me', { token: fresh })).body.name).toBe('second')
  expect(service.adminToken).not.toBe(old)
  expect((await client.get('/v1/me')).body.id).toBe((await client.get('/v1/me', { token: old })).body.id)
  await service.runAgentMode('keys', 'drop-old', 'token', '--force')
  await eventually(async () => (await statusWith(old)) === 401)
  expect((await client.get('/v1/me', { token: old })).body.code).toBe('token_invalid')
  expect(await statusWith(fresh)).toBe(200)
  expect(await statusWith(service.adminToken)).toBe(200)
})

test('old token keys are not dropped while live tokens need them', async () => {
  const user = await issue('--name', 'user', '--expires', '1h')
  const gone = await issue('--name', 'gone')
  const { id } = (await client.get('/v1/me', { token: gone })).body
  await client.delete(`/v1/tokens/${id}`)
  await service.runAgentMode('keys', 'rotate', 'token')
  const refusal = await service.runAgentMode('keys', 'drop-old', 'token').catch(({ message }: Error) => message)
  expect(refusal).toMatch(/tokens? signed with the old keys would stop working: .*user \(tok_\w+, until .*--force/)
  expect(refusal).not.toContain('gone')
  expect((await client.get('/v1/me', { token: user })).status).toBe(200)
  await service.runAgentMode('keys', 'drop-old', 'token', '--force')
  await eventually(async () => (await client.get('/v1/me', { token: user })).status === 401)
  expect((await client.get('/v1/me')).status).toBe(200)
})

test('a prepared key verifies before it signs: who has the public keys by then misses no token', async () => {
  const before = await issue('--name', 'before')
  await service.runAgentMode('keys', 'prepare', 'token')
  const known = readFileSync(join(service.dataDir, 'keys/token-public.json'), 'utf8')
  await service.runAgentMode('keys', 'rotate', 'token')
  const header = JSON.parse(Buffer.from((await issue()).split('.', 1)[0] ?? '', 'base64url').toString('utf8'))
  expect(parseTokenKeys(known).keys.map(({ kid }) => kid)).toContain(header.kid)
  await eventually(async () => (await statusWith(await issue('--name', 'after'))) === 200)
  expect(await statusWith(before)).toBe(200)
})

test('an old channel key is dropped once the front, which works all the while, has read the new one', async () => {
  await service.runAgentMode('keys', 'rotate', 'channel')
  const rotatedAt = changedAt('channel.json')
  await eventually(async () => {
    expect((await client.get('/v1/me')).status).toBe(200)
    return Date.now() > rotatedAt + 7_500
  }, 200)
  expect(changedAt('old-channel-key-used')).toBeLessThan(rotatedAt + 6_000)
  await service.runAgentMode('keys', 'drop-old', 'channel')
  expect((await client.get('/v1/me')).status).toBe(200)
})

test('an old channel key is not dropped while a front signs with it', async () => {
  const old = readKeys()
  await service.runAgentMode('keys', 'rotate', 'channel')
  // A use of the old key counts only six seconds after the rotation, the time that fronts have to read the new key.
  await eventually(async () => {
    expect(await askWith(old)).toBe(200)
    return changedAt('old-channel-key-used') > changedAt('channel.json') + 6_000
  }, 200)
  for (const change of ['drop-old', 'rotate']) {
    const refusal = service.runAgentMode('keys', change, 'channel')
    await expect(refusal).rejects.toThrow(/A front last signed with the old channel key at .*--force/)
  }
  expect((await client.get('/v1/me')).status).toBe(200)
  await service.runAgentMode('keys', 'drop-old', 'channel', '--force')
  await eventually(async () => (await askWith(old)) === 502)
  expect((await client.get('/v1/me')).status).toBe(200)
})

test('a token of the operator is no administrator, and ends, unless asked for', async () => {
  const before = Date.now()
  const { body } = await client.get('/v1/me', { token: await issue() })
  expect(body).toMatchObject({ name: 'operator', projects: '*', permissions: ['read', 'write', 'exec', 'ports'] })
  const days = (Date.parse(body.expires_at) - before) / 86_400_000
  expect(days).toBeGreaterThan(29.9)
  expect(days).toBeLessThan(30.1)
  const admin = await issue('--permissions', 'read,admin', '--expires', 'never', '--projects', 'a,b')
  expect((await client.get('/v1/me', { token: admin })).body).toMatchObject({
    projects: ['a', 'b'],
    permissions: ['read', 'admin'],
    expires_at: null,
  })
})

test.each([
  [['token', '--expires', 'soon'], /--expires: must be seconds/],
  [['token', '--expires', '0'], /--expires: /],
  [['token', '--permissions', 'all'], /--permissions: /],
  [['token', '--name', 'Bad Name'], /--name: /],
  [['token', '--projects', ''], /--projects: /],
  [['token', '--life', '1'], /--life/],
  [['bogus'], /There is no mode "bogus"/],
  [['admin', 'down', 'now'], /Unexpected argument 'now'/],
  [['keys', 'drop', 'token'], /Usage: keys rotate\|drop-old token\|channel/],
  [['keys', 'prepare', 'channel'], /keys prepare token, or keys trust backup FILE/],
  [['keys', 'rotate', 'token', 'channel'], /Usage: keys rotate/],
  [['keys', 'rotate', '--hard'], /--hard/],
])('refuses %j', async (args, message) => {
  await expect(service.runAgentMode(...args)).rejects.toThrow(message)
})

test.each([[['admin']], [['--help']], [['admin', 'down', '--help']]])(
  '%j tells how it is used, and does nothing',
  async (args) => {
    expect(await service.runAgentMode(...args)).toMatch(/^Usage: /)
    expect((await client.get('/v1/me')).status).toBe(200)
  },
)

test.each(['token', 'keys'])('tells how to use %s', async (mode) => {
  expect(await service.runAgentMode(mode, '--help')).toMatch(new RegExp(`^Usage: ${mode} `))
})
