import { describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of tokens for any front. */
export function defineTokensSuite(client: Client): void {
  const mint = (body: Record<string, unknown>, token?: string) =>
    client.post(
      '/v1/tokens',
      { name: 'ci', projects: ['mine'], permissions: ['read'], ...body },
      token ? { token } : {},
    )

  describe('tokens', () => {
    test('a request without, with a broken, and with a foreign token is refused', async () => {
      const missing = await client.get('/v1/me', { token: null })
      expect([missing.status, missing.body.code]).toEqual([401, 'token_missing'])
      for (const token of ['x', 'a.b.c', `${'e'.repeat(9000)}.x.y`]) {
        const answer = await client.get('/v1/me', { token })
        expect([answer.status, answer.body.code]).toEqual([401, 'token_invalid'])
      }
    })

    test('a minted token permits what it lists and no more', async () => {
      const minted = await mint({})
      expect(minted.status).toBe(201)
      const { token, id } = minted.body
      expect((await client.get('/v1/me', { token })).body).toEqual({
        id,
        name: 'ci',
        projects: ['mine'],
        permissions: ['read'],
        on_behalf_of: null,
        // Inherited from the token that made the request.
        expires_at: (await client.get('/v1/me')).body.expires_at,
      })
      expect((await client.get('/v1/projects/mine/boxes', { token })).status).toBe(200)
      const foreign = await client.get('/v1/projects/other/boxes', { token })
      expect([foreign.status, foreign.body.code]).toEqual([403, 'permission_denied'])
      const write = await client.post('/v1/projects/mine/boxes', { name: 'x' }, { token })
      expect([write.status, write.body.code]).toEqual([403, 'permission_denied'])
      expect((await client.get('/v1/tokens')).text).not.toContain(token)
    })

    test('a token sees the projects it is for that have something', async () => {
      const [one, two, foreign] = ['seen-one', 'seen-two', 'seen-three']
      for (const project of [one, foreign]) {
        const made = await client.post(`/v1/projects/${project}/data`, { name: 'data', size_gb: 0.5 })
        expect(made.status).toBe(201)
      }
      const { token } = (await mint({ projects: [two, one, 'seen-none'] })).body
      const list = async (query = '') => (await client.get(`/v1/projects${query}`, { token })).body
      const names = async (query = '') => (await list(query)).projects.map((each: { project: string }) => each.project)
      expect(await names()).toEqual([one])
      const allowed = { boxes: 3, cpus: null, ram_mb: null, storage_gb: null }
      await client.call('PUT', `/v1/projects/${two}/quota`, { body: { allowed } })
      const { projects } = await list()
      const counts = { boxes: { running: 0, stopped: 0, other: 0 } }
      const quotas = await Promise.all([one, two].map((name) => client.get(`/v1/projects/${name}/quota`)))
      expect(projects).toEqual([
        { ...quotas[0]?.body, ...counts, volumes: 1 },
        { ...quotas[1]?.body, ...counts, volumes: 0 },
      ])
      expect(projects[0].used.storage_gb).toBe(0.5)
      const page = await list('?max_results=1')
      expect([page.projects[0].project, page.has_more]).toEqual([one, true])
      expect(await names(`?continuation_token=${page.next_continuation_token}`)).toEqual([two])
      expect(await names('?prefix=seen-t')).toEqual([two])
      const all = (await client.get('/v1/projects?prefix=seen-&max_results=1000')).body.projects
      expect(all.map((each: { project: string }) => each.project)).toEqual([one, foreign, two])
      const broken = await client.get('/v1/projects?continuation_token=e30', { token })
      expect([broken.status, broken.body.code]).toEqual([400, 'invalid_request'])
      for (const project of [one, foreign]) await client.delete(`/v1/projects/${project}/data/data`)
      expect(await names()).toEqual([two])
      await client.call('PUT', `/v1/projects/${two}/quota`, { body: { allowed: null } })
      expect(await names()).toEqual([])
    })

    test('a token mints only subsets of itself', async () => {
      const { token } = (await mint({ permissions: ['read', 'write'], expires_in_seconds: 100 })).body
      expect((await mint({ permissions: ['exec'] }, token)).body.code).toBe('permission_denied')
      expect((await mint({ projects: '*' }, token)).body.code).toBe('permission_denied')
      expect((await mint({ projects: ['mine', 'more'] }, token)).body.code).toBe('permission_denied')
      expect((await mint({ expires_in_seconds: 200 }, token)).body.code).toBe('permission_denied')
      const child = (await mint({}, token)).body
      expect(child.expires_at).not.toBeNull()
      expect((await client.get('/v1/tokens', { token })).body.tokens.map((one: { id: string }) => one.id)).toEqual([
        child.id,
      ])
    })

    test('revoking acts from the next request on', async () => {
      const { token, id } = (await mint({})).body
      expect((await client.get('/v1/me', { token })).status).toBe(200)
      expect((await client.delete(`/v1/tokens/${id}`)).status).toBe(204)
      const after = await client.get('/v1/me', { token })
      expect([after.status, after.body.code]).toEqual([401, 'token_revoked'])
    })

    test('revoking a token takes those minted with it along', async () => {
      const parent = (await mint({ permissions: ['read', 'write'] })).body
      const child = (await mint({}, parent.token)).body
      const grandchild = (await mint({}, child.token)).body
      expect((await client.get('/v1/me', { token: grandchild.token })).status).toBe(200)
      await client.delete(`/v1/tokens/${parent.id}`)
      for (const { token } of [parent, child, grandchild]) {
        expect((await client.get('/v1/me', { token })).body.code).toBe('token_revoked')
      }
    })

    test('an expired token is refused as expired', async () => {
      const { token } = (await mint({ expires_in_seconds: 1 })).body
      await new Promise((resolve) => setTimeout(resolve, 1100))
      const after = await client.get('/v1/me', { token })
      expect([after.status, after.body.code]).toEqual([401, 'token_expired'])
    })

    test('a replay of a minting leaves the secret out', async () => {
      const headers = { 'idempotency-key': `mint-${Math.random()}` }
      const body = { name: 'once', projects: ['mine'], permissions: ['read'] }
      const first = await client.post('/v1/tokens', body, { headers })
      const second = await client.post('/v1/tokens', body, { headers })
      expect(second.body.id).toBe(first.body.id)
      expect([typeof first.body.token, second.body.token]).toEqual(['string', undefined])
    })

    test('the environment of a box is shown only to tokens that may write', async () => {
      await client.post('/v1/projects/mine/boxes', { name: 'secretive', environment: { KEY: 'value' } })
      const { token } = (await mint({})).body
      const seen = await client.get('/v1/projects/mine/boxes/secretive', { token })
      expect(seen.body.environment).toEqual({})
      await client.delete('/v1/projects/mine/boxes/secretive')
    })
  })
}
