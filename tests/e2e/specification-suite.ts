import { describe, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import type { Client } from '../helpers/front/client.ts'

/** Defines the tests of a client written for the original specification. `client` holds the admin token. */
export function defineSpecificationSuite(client: Client): void {
  const boxes = '/v1/projects/specification/boxes'
  const volumes = '/v1/projects/specification/data'

  describe('a create whose fields may be null', () => {
    test.each([
      ['base', { base: null }],
      ['fork', { fork: null }],
      ['data_mounts', { data_mounts: null }],
      ['all of them', { base: null, fork: null, data_mounts: null }],
    ])('takes a null for %s as absent', async (_, nulls) => {
      const created = await client.post(boxes, { name: 'plain', config: { ram_mb: 64 }, ...nulls })
      expect([created.status, created.body]).toEqual([
        201,
        expect.objectContaining({ status: 'running', base: 'busybox', fork_of: null, data_mounts: [] }),
      ])
      await client.delete(`${boxes}/plain`)
    })

    test('takes null for base when fork is given, and the reverse', async () => {
      const based = await client.post(boxes, { name: 'based', base: 'busybox', fork: null, config: { ram_mb: 64 } })
      expect([based.status, based.body.base, based.body.fork_of]).toEqual([201, 'busybox', null])
      const forked = await client.post(boxes, { name: 'forked', base: null, fork: 'based' })
      expect([forked.status, forked.body.base, forked.body.fork_of]).toEqual([201, 'busybox', 'based'])
      const lost = await client.post(boxes, { name: 'lost', base: null, fork: 'nobody' })
      expect([lost.status, lost.body.code]).toEqual([404, 'box_not_found'])
      for (const name of ['based', 'forked']) await client.delete(`${boxes}/${name}`)
    })
  })

  describe('a replay by an Idempotency-Key', () => {
    const keyed = () => ({ headers: { 'idempotency-key': `replay-${Math.random()}` } })
    const environment = { GREETING: 'hello', SECRET: 'hunter2' }

    test('shows the environment of the box, for every operation', async () => {
      const body = { name: 'replayed', config: { ram_mb: 64 }, environment }
      const again = async (path: string, what: object | undefined, options = keyed()) => {
        const first = await client.post(path, what, options)
        expect(first.body.environment).toEqual(environment)
        const second = await client.post(path, what, options)
        expect([second.status, second.headers['idempotent-replayed']]).toEqual([first.status, 'true'])
        expect(second.body).toEqual(first.body)
        expect(second.headers.etag).toBe(first.headers.etag)
      }
      await again(boxes, body)
      await again(`${boxes}/replayed/stop`, undefined)
      await again(`${boxes}/replayed/resume`, undefined)
      await again(`${boxes}/replayed/lease`, { seconds: 60 })
      await again(`${boxes}/replayed/publish`, { auth: 'token' })
      await again(`${boxes}/replayed/unpublish`, {})
      await client.post(volumes, { name: 'replayed', size_gb: 1 })
      await again(`${volumes}/replayed/attach`, { box: 'replayed', path: '/mnt/replayed' })
      await again(`${volumes}/replayed/detach`, { box: 'replayed' })
      await client.post(`${boxes}/replayed/snapshots`, { name: 'kept' })
      await again(`${boxes}/replayed/stop`, undefined)
      await again(`${boxes}/replayed/restore`, { snapshot: 'kept' })
      await client.delete(`${boxes}/replayed`)
      await client.delete(`${volumes}/replayed`)
    })

    test('shows no environment once the box is deleted or replaced by another of its name', async () => {
      const options = keyed()
      const create = () => client.post(boxes, { name: 'replayed', config: { ram_mb: 64 }, environment }, options)
      const { id } = (await create()).body
      await client.put(`${boxes}/replayed`, { environment: { GREETING: 'later' } })
      expect((await create()).body).toMatchObject({ id, environment: { GREETING: 'later' } })
      await client.delete(`${boxes}/replayed`)
      expect((await create()).body).toMatchObject({ id, environment: {} })
      await client.post(boxes, { name: 'replayed', config: { ram_mb: 64 }, environment: { OTHER: 'x' } })
      expect((await create()).body).toMatchObject({ id, environment: {} })
      await client.delete(`${boxes}/replayed`)
    })
  })

  describe('tags with keys as on a cluster', () => {
    const longest = `${'p'.repeat(253)}/${'n'.repeat(63)}`
    const tags = { 'app.kubernetes.io/name': 'web', 'team:owner': 'a=b,c', 'v1.2/x.y:z': '', [longest]: 'long' }

    test('are kept, shown and found on boxes and data volumes', async () => {
      const created = await client.post(boxes, { name: 'tagged', config: { ram_mb: 64 }, tags })
      expect([created.status, created.body.tags]).toEqual([201, tags])
      const volume = await client.post(volumes, { name: 'tagged', size_gb: 1, tags })
      expect([volume.status, volume.body.tags]).toEqual([201, tags])
      const found = async (tag: string): Promise<number[]> => {
        const query = new URLSearchParams({ tag }).toString()
        const lists = [await client.get(`${boxes}?${query}`), await client.get(`${volumes}?${query}`)]
        return lists.map(({ body }) => (body.boxes ?? body.volumes).length)
      }
      for (const tag of [
        'app.kubernetes.io/name',
        'app.kubernetes.io/name=web',
        'team:owner',
        'v1.2/x.y:z=',
        longest,
      ]) {
        expect([tag, await found(tag)]).toEqual([tag, [1, 1]])
      }
      expect(await found('app.kubernetes.io/name=other')).toEqual([0, 0])
      const changed = await client.put(`${boxes}/tagged`, { tags: { 'example.com/a:b': 'c' } })
      expect([changed.status, changed.body.tags]).toEqual([200, { 'example.com/a:b': 'c' }])
      await client.delete(`${boxes}/tagged`)
      await client.delete(`${volumes}/tagged`)
    })

    test.each(['', 'a b', 'a=b', 'a,b', 'ä', `${longest}n`])('are refused as %j', async (key) => {
      const answer = await client.post(boxes, { name: 'bad', tags: { [key]: '' } })
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    })
  })

  describe('health', () => {
    const minted = async (more: object) => {
      const body = { name: 'watch', projects: ['specification'], permissions: ['read'], ...more }
      return (await client.post('/v1/tokens', body)).body
    }
    const short = { status: expect.any(String), api: { api_version: 'v1' }, errors: [] }

    test.each(['x', 'a.b.c', `${'e'.repeat(9000)}.x.y`, ''])(
      'answers in short to a bearer that is no Boxyard token',
      async (token) => {
        const answer = await client.get('/healthz', { token })
        expect([answer.status, answer.body]).toEqual([200, short])
      },
    )

    test('answers in short to another authentication scheme', async () => {
      const answer = await client.get('/healthz', { token: null, headers: { authorization: 'Basic dXNlcjpwYXNz' } })
      expect([answer.status, answer.body]).toEqual([200, short])
    })

    test('answers in short once a token has expired or was revoked', async () => {
      const [brief, revoked] = [await minted({ expires_in_seconds: 1 }), await minted({})]
      expect((await client.get('/healthz', { token: revoked.token })).body.host.cpu.cores).toBeGreaterThan(0)
      await client.delete(`/v1/tokens/${revoked.id}`)
      await eventually(async () => (await client.get('/v1/me', { token: brief.token })).status === 401)
      for (const { token } of [brief, revoked]) {
        const answer = await client.get('/healthz', { token })
        expect([answer.status, answer.body]).toEqual([200, short])
      }
    })

    test('is the only exception: every other route refuses such a token, even if it needs none', async () => {
      for (const path of ['/version', '/v1/config', '/openapi.json', '/v1/me']) {
        expect([path, (await client.get(path, { token: 'x' })).body.code]).toEqual([path, 'token_invalid'])
      }
    })
  })
}
