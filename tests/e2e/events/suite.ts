import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'
import { ownName } from '../../helpers/front/own-name.ts'

interface Event {
  id: string
  type: string
  project: string | null
  resource: string
  actor: { id: string; name: string } | null
  request_id: string | null
  data: Record<string, unknown>
}

/** Defines the tests of events and of the audit log for any front. */
export function defineEventsSuite(client: Client): void {
  const project = '/v1/projects/events'
  const feed = `${project}/events`
  const since = async (cursor: string, more = ''): Promise<Event[]> =>
    (await client.get(`${feed}?since=${cursor}${more}`)).body.events
  const now = async (): Promise<string> => (await client.get(`${feed}?since=now`)).body.next_cursor

  describe('events', () => {
    let start = ''
    beforeAll(async () => {
      start = await now()
      await client.post(`${project}/boxes`, { name: 'web', environment: { SECRET: 'hunter2' } })
    })
    afterAll(async () => {
      for (const box of ['web', 'other']) await client.delete(`${project}/boxes/${box}`)
    })

    test('record each change of a box, with its caller and request, or none for its own changes', async () => {
      const me = (await client.get('/v1/me')).body
      const headers = { 'x-request-id': 'stop it' }
      expect((await client.post(`${project}/boxes/web/stop`, undefined, { headers })).status).toBe(200)
      const { body } = await client.put(`${project}/boxes/web`, { environment: { SECRET: 'hunter3' } })
      const events = await since(start)
      expect(events.map(({ type }) => type)).toEqual([
        ...['box.created', 'box.running', 'box.stop_requested', 'box.pending', 'box.stopped', 'box.updated'],
      ])
      expect(events[0]).toMatchObject({ actor: { id: me.id, name: me.name }, data: { id: body.id, status: 'pending' } })
      expect(events[2]).toMatchObject({ request_id: 'stop it', resource: `${project}/boxes/web` })
      expect(events[4]).toMatchObject({ actor: null, request_id: null, data: { reason: 'stopped_by_request' } })
      expect(events[5]?.data).toEqual({ id: body.id, fields: ['environment'] })
      expect(JSON.stringify(events)).not.toMatch(/hunter/)
    })

    test('are paged, and filtered by type', async () => {
      const pages: Event[] = []
      for (let [cursor, hasMore] = [start, true]; hasMore; ) {
        const { body } = await client.get(`${feed}?since=${cursor}&max_results=2`)
        expect(body.events.length).toBeLessThanOrEqual(2)
        pages.push(...body.events)
        cursor = body.next_cursor
        hasMore = body.has_more
      }
      expect(pages).toEqual(await since(start))
      const some = await since(start, '&type=box.created,box.stopped&type=data.*')
      expect(some.map(({ type }) => type)).toEqual(['box.created', 'box.stopped'])
      expect((await client.get(`${feed}?type=box`)).body.errors[0].pointer).toBe('/query/type')
    })

    test('of a time and later begin with the first of then', async () => {
      const events = (await client.get(`${feed}?since=${start}`)).body.events as (Event & { ts: string })[]
      const first = events.find(({ ts }) => ts > (events[0]?.ts ?? ''))
      const { body } = await client.get(`${feed}?since=${first?.ts}`)
      expect(body.events).toEqual(events.filter(({ ts }) => ts >= (first?.ts ?? '')))
      expect(await since(body.next_cursor)).toEqual([])
      expect((await client.get(`${feed}?since=2026-99-99T00:00:00Z`)).body.errors[0].pointer).toBe('/query/since')
    })

    test('can be waited for, and end the wait', async () => {
      const cursor = await now()
      const waiting = client.get(`${feed}?since=${cursor}&wait_seconds=25&type=box.created`)
      await client.post(`${project}/boxes`, { name: 'other' })
      const { body } = await waiting
      expect(body.events).toMatchObject([{ type: 'box.created', resource: `${project}/boxes/other` }])
      const empty = await client.get(`${feed}?since=${body.next_cursor}&wait_seconds=1&type=base.*`)
      expect(empty.body).toMatchObject({ events: [], has_more: false, next_cursor: expect.any(String) })
    })

    test('of other projects are hidden, and "-" lists all projects that a token may read', async () => {
      const mint = async (projects: unknown, permissions = ['read']) =>
        (await client.post('/v1/tokens', { name: 'reader', projects, permissions })).body
      const [mine, other] = [await mint(['events']), await mint(['nobodys'])]
      const seenBy = async ({ token }: { token: string }, path: string): Promise<Event[]> =>
        (await client.get(`${path}?since=${start}&max_results=1000`, { token })).body.events
      expect(await seenBy(mine, feed)).toEqual(await since(start))
      expect((await seenBy(mine, '/v1/projects/-/events')).every((event) => event.project === 'events')).toBe(true)
      expect((await seenBy(mine, '/v1/projects/-/events')).length).toBeGreaterThan(5)
      expect(await seenBy(other, '/v1/projects/-/events')).toEqual([])
      expect((await client.get(feed, { token: other.token })).status).toBe(403)
      const all = (await client.get(`/v1/projects/-/events?since=${start}&max_results=1000`)).body.events as Event[]
      expect(all.filter(({ type }) => type === 'token.created').map(({ data }) => data['id'])).toEqual(
        expect.arrayContaining([mine.id, other.id]),
      )
      expect(JSON.stringify(all)).not.toContain(mine.token)
    })

    test('a cursor that the service did not issue is refused', async () => {
      const made = (text: string): string => Buffer.from(text).toString('base64url')
      const answers = [`${made('e1:999999999')}`, 'rubbish', made('e1:-1')].map((cursor) =>
        client.get(`${feed}?since=${cursor}`),
      )
      expect((await Promise.all(answers)).map(({ body }) => body.code)).toEqual([
        ...['cursor_expired', 'invalid_request', 'invalid_request'],
      ])
    })
  })
  describe('the audit log', () => {
    const audited = ownName('audited')
    const audit = async (query: string, options = {}) => (await client.get(`/v1/audit?${query}`, options)).body

    test('lists caller, request and answer, newest first', async () => {
      const { id, name } = (await client.get('/v1/me')).body
      const headers = { 'x-request-id': 'audited' }
      await client.post(
        `/v1/projects/${audited}/boxes`,
        { name: 'it', environment: { SECRET: 'hunter2' } },
        { headers },
      )
      await client.delete(`/v1/projects/${audited}/boxes/it`)
      await client.delete(`/v1/projects/${audited}/boxes/it`)
      const { entries } = await audit(`project=${audited}`)
      expect(entries).toMatchObject([
        { operation: 'deleteBox', status: 404, code: 'box_not_found', method: 'DELETE' },
        { operation: 'deleteBox', status: 204, code: null },
        { operation: 'createBox', status: 201, request_id: 'audited', actor: id, actor_name: name, project: audited },
      ])
      expect(JSON.stringify(entries)).not.toContain('hunter2')
      const page = await audit(`project=${audited}&max_results=2`)
      expect([page.entries.length, page.has_more]).toEqual([2, true])
      const rest = await audit(`project=${audited}&continuation_token=${page.next_continuation_token}`)
      expect([...page.entries, ...rest.entries]).toEqual(entries)
      expect((await audit(`project=${audited}&status=404`)).entries).toEqual(entries.slice(0, 1))
      expect((await audit(`project=${audited}&operation=createBox&actor=${name}`)).entries).toEqual(entries.slice(2))
    })

    test('shows an admin of some projects these only, and other callers nothing', async () => {
      const mint = async (permission: string): Promise<string> => {
        const body = { name: 'watcher', projects: [audited], permissions: [permission] }
        return (await client.post('/v1/tokens', body)).body.token
      }
      const { entries } = await audit('', { token: await mint('admin') })
      expect(new Set(entries.map(({ project }: { project: string }) => project))).toEqual(new Set([audited]))
      expect((await audit('', { token: await mint('read') })).code).toBe('permission_denied')
      expect((await audit('operation=createToken')).entries[0]).toMatchObject({ target: '/v1/tokens', project: null })
    })
  })
}
