import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openStream, refusedStream } from '../../helpers/exec/stream-client.ts'
import { type CallOptions, type Client, createClient } from '../../helpers/front/client.ts'

/** Data address of the service, its admin token, and its log lines so far. */
export interface DataAddress {
  url(): string
  token(): string
  logs(): readonly string[]
}

/** Defines the tests of clients that reach the agent through a front without WebSockets or large bodies. */
export function defineTicketsSuite(client: Client, data: DataAddress): void {
  const box = '/v1/projects/tickets/boxes/it'
  const secrets: string[] = []
  const ask = async (operation: string, query?: Record<string, string | string[]>, options?: CallOptions) => {
    const answer = await client.post(`${box}/tickets`, { operation, ...(query ? { query } : {}) }, options)
    if (answer.body.url !== undefined) secrets.push(String(new URL(answer.body.url).searchParams.get('ticket')))
    return answer
  }
  const execTicket = async (...command: string[]): Promise<string> =>
    (await ask('streamExec', { command, stdin: 'true' })).body.url
  const mint = async (body: Record<string, unknown>) => {
    const minted = await client.post('/v1/tokens', { name: 't', projects: ['tickets'], ...body })
    secrets.push(minted.body.token)
    return minted.body as { id: string; token: string }
  }
  const direct = createClient(data.url, data.token)

  describe('tickets', () => {
    beforeAll(async () => {
      await client.post('/v1/projects/tickets/boxes', { name: 'it' })
    })
    afterAll(async () => {
      await client.delete(box)
    })

    test('lead to a command, once', async () => {
      const answer = await ask('streamExec', {
        command: ['sh', '-c', 'read line; echo "got $line"; exit 4'],
        stdin: 'true',
      })
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({
        method: 'GET',
        url: expect.stringContaining(data.url().replace('http', 'ws')),
      })
      const life = Date.parse(answer.body.expires_at) - Date.now()
      expect(life).toBeGreaterThan(30_000)
      expect(life).toBeLessThanOrEqual(60_000)
      const stream = await openStream(answer.body.url)
      stream.send(0, 'it\n')
      await stream.closed
      expect([stream.text(1), stream.status()?.details?.causes]).toEqual([
        'got it\n',
        [{ reason: 'ExitCode', message: '4' }],
      ])
      expect((await refusedStream(answer.body.url)).problem).toMatchObject({ status: 401, code: 'token_invalid' })
    })

    test('lead to a console', async () => {
      const { url } = (await ask('openConsole', { session: 'by-ticket' })).body
      const stream = await openStream(url)
      stream.send(0, 'echo is-$((40+2)); exit\n')
      await stream.until(1, 'is-42')
      await stream.closed
    })

    test('carry files in and out', async () => {
      const bytes = Buffer.alloc(3_000_000, 'z')
      const path = '/tmp/by ticket & co'
      const put = (await ask('writeFile', { path })).body
      expect(put).toMatchObject({ method: 'PUT', url: expect.stringContaining(data.url()) })
      const headers = { 'content-type': 'application/octet-stream' }
      const written = await fetch(put.url, { method: put.method, body: bytes, headers })
      expect([written.status, await written.text()]).toEqual([200, expect.any(String)])
      const { url } = (await ask('readFile', { path })).body
      const read = await fetch(url)
      expect(read.headers.get('access-control-allow-origin')).toBe('*')
      expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true)
      expect((await fetch(url)).status).toBe(401)
    })

    test('are refused with a problem whose explanation the same address serves', async () => {
      const refused = await direct.get(`${box}/files/read?path=/x&ticket=abc`, { token: null })
      const told = await direct.get(refused.body.type, { token: null })
      expect([told.status, told.body.code]).toEqual([200, refused.body.code])
      expect((await direct.get('/version')).status).toBe(404)
    })

    test('are for exactly the request they were issued for; any other request uses them up', async () => {
      const url = await execTicket('id')
      const other = url.replace('command=id', 'command=reboot')
      expect((await refusedStream(other)).problem['code']).toBe('token_invalid')
      expect((await refusedStream(url)).problem['code']).toBe('token_invalid')
      const moved = (await execTicket('id')).replace('/boxes/it/', '/boxes/other/')
      expect((await refusedStream(moved)).problem['code']).toBe('token_invalid')
    })

    test('are for the box that had the name when they were issued', async () => {
      const url = await execTicket('id')
      await client.delete(box)
      await client.post('/v1/projects/tickets/boxes', { name: 'it' })
      expect((await refusedStream(url)).problem).toMatchObject({ status: 404, code: 'box_not_found' })
    })

    test('end with the token that requested them', async () => {
      const { id, token } = await mint({ permissions: ['exec'], expires_in_seconds: 20 })
      const answer = await ask('streamExec', { command: 'id' }, { token })
      expect(Date.parse(answer.body.expires_at) - Date.now()).toBeLessThanOrEqual(20_000)
      await client.delete(`/v1/tokens/${id}`)
      expect((await refusedStream(answer.body.url)).problem).toMatchObject({ status: 401, code: 'token_revoked' })
    })

    test('are issued only for requests that the token permits and that are valid', async () => {
      const { token } = await mint({ permissions: ['read'], expires_in_seconds: 60 })
      const problem = async (...given: Parameters<typeof ask>) => (await ask(...given)).body
      expect(await problem('streamExec', { command: 'id' }, { token })).toMatchObject({ code: 'permission_denied' })
      expect(await problem('readFile', { path: '/etc/passwd' }, { token })).toMatchObject({ method: 'GET' })
      expect(await problem('streamExec')).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '/query/command' }],
      })
      expect(await problem('createExec')).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '/operation' }],
      })
      const nowhere = await client.post('/v1/projects/tickets/boxes/none/tickets', { operation: 'openConsole' })
      expect(nowhere.body.code).toBe('box_not_found')
    })

    test('are not returned again by a replay of their request', async () => {
      const options = { headers: { 'idempotency-key': 'ticket-1' } }
      const first = await ask('openConsole', undefined, options)
      const again = await ask('openConsole', undefined, options)
      expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true'])
      expect(again.body).toEqual({ method: 'GET', expires_at: first.body.expires_at })
    })
  })

  describe('the data address', () => {
    test('takes a token for operations that a function cannot carry, and no others', async () => {
      await client.post('/v1/projects/tickets/boxes', { name: 'it' })
      const stream = await openStream(`${data.url()}${box}/exec/ws?command=id`, { token: data.token() })
      await stream.closed
      expect(stream.text(1)).toContain('uid=0')
      for (const [method, path] of [
        ['GET', box],
        ['DELETE', box],
        ['POST', `${box}/exec`],
        ['GET', '/healthz'],
      ] as const) {
        const answer = await direct.call(method, path)
        expect([answer.status, answer.body.code]).toEqual([404, 'route_not_found'])
      }
      const plain = await direct.get(`${box}/exec/ws?command=id`)
      expect([plain.status, plain.body.code]).toEqual([426, 'upgrade_required'])
      expect((await direct.get(`${box}/files/read?path=/etc/passwd`, { token: null })).body.code).toBe('token_missing')
      await client.delete(box)
    })

    test('lets pages of any origin send a ticket, but not a token', async () => {
      const ask = (query: string, method = 'OPTIONS') =>
        fetch(`${data.url()}${box}/files/write?path=/x${query}`, {
          method,
          headers: { origin: 'https://page.example', 'access-control-request-method': 'PUT' },
        })
      const allowed = await ask('&ticket=any')
      expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
      expect(allowed.headers.get('access-control-allow-methods')).toBe('GET, PUT, POST')
      expect(allowed.headers.get('access-control-allow-headers')).toContain('content-type')
      expect((await ask('')).headers.get('access-control-allow-origin')).toBeNull()
      const refused = await ask('&ticket=any', 'PUT')
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*'])
    })

    test('logs no ticket and no token', () => {
      const lines = data.logs().join('\n')
      expect(lines).toContain('"operation":"streamExec"')
      expect(secrets.length).toBeGreaterThan(10)
      for (const secret of [...secrets, data.token()]) expect(lines).not.toContain(secret)
    })
  })
}
