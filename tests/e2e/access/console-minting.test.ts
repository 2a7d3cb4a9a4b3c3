import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ConsoleSession, createConsoleSessions, statusAndCode } from '../../helpers/access/console-sessions.ts'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const { secrets, signIn, mint, ask } = createConsoleSessions(client, () => service.url)
const SMALL = { name: 'minted', projects: ['pages'], permissions: ['read'] }

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.5' } })
})

afterAll(async () => {
  await service.close()
})

describe('what is minted in a session', () => {
  const mintIn = async (session: ConsoleSession, body: Record<string, unknown> = {}) => {
    const minted = await client.post('/v1/tokens', { ...SMALL, ...body }, { token: null, headers: session.headers })
    secrets.push(minted.body.token)
    return minted
  }
  const isTaken = async (token: string) => statusAndCode(await client.get('/v1/me', { token }))
  const taken = [200, null]
  const revoked = [401, 'token_revoked']

  test('is minted with the token that it stands for, and outlives it', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    const minted = await mintIn(session)
    const { expires_at } = (await client.get('/v1/me', { token })).body
    expect(minted.body).toMatchObject({ created_by: id, session: session.token.id, is_session: false, expires_at })
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.parse(session.token.expires_at))
    await client.delete('/v1/session', { token: null, headers: session.headers })
    expect(await isTaken(minted.body.token)).toEqual(taken)
    expect(statusAndCode(await mintIn(await signIn({ token }), { expires_in_seconds: 31 * 86_400 }))).toEqual([
      403,
      'permission_denied',
    ])
    await client.delete(`/v1/tokens/${id}`)
    expect(await isTaken(minted.body.token)).toEqual(revoked)
  })

  test('is listed and revoked by the token, and by each of its sessions', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const [one, other] = [await signIn({ token }), await signIn({ token })]
    const { id, token: minted } = (await mintIn(one)).body
    const all = [one.token.id, other.token.id, id].sort()
    const idsOf = ({ body }: Answer) => body.tokens.map((each: { id: string }) => each.id).sort()
    expect(idsOf(await client.get('/v1/tokens', { token }))).toEqual(all)
    expect(idsOf(await ask(other, '/v1/tokens'))).toEqual(all)
    const gone = await client.delete(`/v1/tokens/${id}`, { token: null, headers: other.headers })
    expect([gone.status, await isTaken(minted)]).toEqual([204, revoked])
  })

  test('ends when the session is revoked, also after a sign-out, with sessions and tokens that came of it', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const stolen = await signIn({ token })
    const first = (await mintIn(stolen)).body
    const again = await signIn({ token: first.token })
    const link = await client.post('/v1/session/links', undefined, { token: null, headers: stolen.headers })
    secrets.push(link.body.ticket)
    const next = await signIn({ token: null, path: `/v1/session?ticket=${link.body.ticket}` })
    expect(next.token).toMatchObject({ name: 'page (console)' })
    const second = (await mintIn(next)).body
    const own = (await mintIn(await signIn({ token }))).body
    await client.delete('/v1/session', { token: null, headers: stolen.headers })
    expect(await isTaken(first.token)).toEqual(taken)
    expect((await ask(next)).status).toBe(200)
    await client.delete(`/v1/tokens/${stolen.token.id}`)
    expect([await isTaken(first.token), await isTaken(second.token)]).toEqual([revoked, revoked])
    expect([statusAndCode(await ask(again)), statusAndCode(await ask(next))]).toEqual([revoked, revoked])
    expect([await isTaken(own.token), await isTaken(token)]).toEqual([taken, taken])
  })

  test('counts among the tokens of the account', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    expect((await client.get('/v1/config')).body.limits.tokens_per_root).toBe(1_000)
    const minted = await Promise.all(Array.from({ length: 3 }, () => mintIn(session)))
    const rootOf = (text: string) => JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()).root
    expect(new Set(minted.map(({ body }) => rootOf(body.token)))).toEqual(new Set([rootOf(minted[0]?.body.token)]))
    expect(rootOf(minted[0]?.body.token)).toBe((await client.get('/v1/me', { token })).body.id)
  })
})

test('none of it is in a log', () => {
  const lines = service.logs.join('\n')
  expect(secrets.filter((secret) => secret === '' || lines.includes(secret))).toEqual([])
})
