import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { AgentTransport } from '../../../functions/transport.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { type HttpHandler, jsonResponse, problemResponse } from '../../../shared/http/messages.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { jsonOf, makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const BOX = '/v1/projects/demo/boxes/web'
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
})

const bearer = (extra: Record<string, string> = {}) => ({ authorization: `Bearer ${token}`, ...extra })

describe.each(['pool', 'node'] as const)('the front over the %s transport', (kind) => {
  let agent: FakeAgent
  let app: HttpHandler
  let transport: AgentTransport

  beforeEach(async () => {
    agent = await startFakeAgent(() => deployment.channelKeys)
    const front = makeFront({ agentUrl: agent.url, keyring: deployment.keyring, kind, timeoutMs: 1500 })
    app = front.app
    transport = front.transport
  })

  afterEach(async () => {
    await agent.close()
    await transport.close()
  })

  test('passes a request on as it came, signed, and its answer back unchanged', async () => {
    agent.respond = () => ({
      status: 201,
      headers: { 'content-type': 'application/json', location: '/x', etag: '"1"', 'set-cookie': ['a=1', 'b=2'] },
      body: '{ "name" : "web" }',
    })
    const body = '{ "name": "web" }'
    const headers = bearer({ 'idempotency-key': 'k', 'x-request-id': 'mine', 'x-other': 'no' })
    const response = await app(makeRequest('POST', '/v1/projects/demo/boxes?wait_seconds=3', { headers, body }))
    expect(response).toMatchObject({
      status: 201,
      headers: { location: '/x', etag: '"1"', 'set-cookie': ['a=1', 'b=2'], 'x-request-id': 'mine' },
    })
    expect(Buffer.from(response.body as Uint8Array).toString()).toBe('{ "name" : "web" }')
    expect(agent.seen).toHaveLength(1)
    expect(agent.seen[0]).toMatchObject({ method: 'POST', target: '/v1/projects/demo/boxes?wait_seconds=3' })
    expect(agent.seen[0]?.body.toString()).toBe(body)
    expect(agent.seen[0]?.headers).toEqual({
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': 'k',
      'x-request-id': 'mine',
      'x-boxyard-client-address': '192.0.2.1',
    })
  })

  test('does not let a client speak for the channel', async () => {
    const headers = bearer({ 'x-boxyard-client-address': '203.0.113.9', 'x-boxyard-signature': 'v1.a.b.c' })
    await app(makeRequest('GET', BOX, { headers }))
    expect(agent.seen[0]?.headers['x-boxyard-client-address']).toBe('192.0.2.1')
    expect(agent.refusals).toEqual([])
  })

  test('treats HEAD as GET', async () => {
    const response = await app(makeRequest('HEAD', BOX, { headers: bearer() }))
    expect(response.status).toBe(200)
    expect(agent.seen[0]?.method).toBe('GET')
  })

  test('passes an error of the agent on, with the request id', async () => {
    agent.respond = ({ headers }) =>
      problemResponse(new ServiceError('box_not_found', 'No box.'), String(headers['x-request-id']))
    const response = await app(makeRequest('GET', BOX, { headers: bearer() }))
    expect(response).toMatchObject({ status: 404, headers: { 'content-type': 'application/problem+json' } })
    expect(jsonOf(response)).toMatchObject({ code: 'box_not_found', request_id: response.headers['x-request-id'] })
  })

  test('streams a long answer through', async () => {
    const part = Buffer.alloc(512 * 1024, 'x')
    async function* parts() {
      for (let i = 0; i < 8; i++) yield part
    }
    agent.respond = () => ({ status: 200, headers: { 'content-type': 'application/octet-stream' }, body: parts() })
    const response = await app(makeRequest('GET', BOX, { headers: bearer() }))
    let size = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) size += chunk.length
    expect(size).toBe(8 * part.length)
  })

  test.each([
    ['HTML', { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' }],
    ['an unknown code', jsonResponse(400, { code: 'strange' })],
    ['a code of another status', jsonResponse(400, { code: 'box_not_found' })],
    ['an error without body', { status: 500, headers: {}, body: null }],
    ['the answer to another request', jsonResponse(200, {}, { 'x-request-id': 'other' })],
  ])('answers 502 agent_protocol for %s', async (_name, response) => {
    agent.respond = () => response
    const answer = await app(makeRequest('GET', BOX, { headers: bearer() }))
    expect(answer.status).toBe(502)
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_protocol', retryable: false })
  })

  test('answers 504 agent_timeout when the agent is silent, without a retry', async () => {
    agent.respond = () => sleep(6000, jsonResponse(200, {}), { ref: false })
    const answer = await app(makeRequest('GET', BOX, { headers: bearer() }))
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_timeout', status: 504, retryable: true })
    expect(agent.seen).toHaveLength(1)
  })

  test("aborts the agent's request when the client of a GET leaves, and lets a mutation run on", async () => {
    const aborted: string[] = []
    const end = Promise.withResolvers<void>()
    const arrived: string[] = []
    agent.respond = async ({ method, request }) => {
      arrived.push(method)
      request.signal.addEventListener('abort', () => aborted.push(method))
      await end.promise
      return jsonResponse(200, {})
    }
    const client = new AbortController()
    const leave = { headers: bearer(), signal: client.signal }
    const answers = [app(makeRequest('GET', BOX, leave)), app(makeRequest('POST', `${BOX}/stop`, leave))]
    await eventually(() => arrived.length === 2)
    client.abort()
    await eventually(() => aborted.length > 0)
    end.resolve()
    await Promise.all(answers)
    expect(aborted).toEqual(['GET'])
  })

  test('reaches an agent that restarts between two requests', async () => {
    await app(makeRequest('GET', BOX, { headers: bearer() }))
    const { port } = agent
    await agent.close()
    await sleep(20)
    const restarting = sleep(50).then(() => startFakeAgent(() => deployment.channelKeys, { port }))
    const answer = await app(makeRequest('POST', `${BOX}/stop`, { headers: bearer() }))
    agent = await restarting
    expect(answer.status).toBe(200)
    expect(agent.seen).toHaveLength(1)
  })

  test('signs again for a restarted agent, with any number of requests and bytes in flight', async () => {
    await agent.close()
    agent = await startFakeAgent(() => deployment.channelKeys, { port: agent.port, startedAt: Date.now() })
    const body = JSON.stringify({ command: ['cat'], stdin: 'x'.repeat(1024 * 1024) })
    const headers = bearer({ 'x-boxyard-agent-run': 'of-a-client' })
    const send = () => app(makeRequest('POST', `${BOX}/exec`, { headers, body }))
    const answers = await Promise.all([send(), send(), send(), send()])
    expect(answers.map((answer) => [answer.status, answer.headers['x-boxyard-agent-run']])).toEqual(
      Array(4).fill([200, undefined]),
    )
    expect(agent.seen.map((seen) => seen.body.length)).toEqual(Array(4).fill(body.length))
    // Once one request has learned of the restart, later requests are not refused.
    const refused = agent.refusals.length
    expect(new Set(agent.refusals.map(({ reason }) => reason))).toEqual(new Set(['restarted']))
    expect((await send()).status).toBe(200)
    expect(agent.refusals).toHaveLength(refused)
  })

  test('refuses a header that cannot be passed on', async () => {
    const answer = await app(makeRequest('GET', BOX, { headers: bearer({ 'if-match': 'snow☃' }) }))
    expect(jsonOf(answer)).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/headers/if-match' }] })
  })
})

describe('an agent that cannot be reached', () => {
  const { app } = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring })

  test('is 503 agent_unavailable', async () => {
    const answer = await app(makeRequest('POST', `${BOX}/stop`, { headers: bearer() }))
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_unavailable', status: 503, retryable: true })
  })

  test('leaves a short health report to callers without token', async () => {
    const answer = await app(makeRequest('GET', '/healthz', { headers: { 'x-request-id': 'mine' } }))
    expect(answer).toMatchObject({ status: 503, headers: { 'x-request-id': 'mine' } })
    expect(jsonOf(answer)).toEqual({ status: 'unavailable', api: { api_version: 'v1' }, errors: [] })
  })

  test('is explained in the health report to callers with a token', async () => {
    const answer = await app(makeRequest('GET', '/healthz', { headers: bearer() }))
    const [problem] = jsonOf(answer)['problems'] as { evidence: string }[]
    expect(problem).toMatchObject({ code: 'agent_unavailable', remedy: expect.any(String) })
    expect(jsonOf(answer)).toMatchObject({
      status: 'unavailable',
      errors: [expect.stringMatching(/^.+\. Remedy: Start the agent, or fix the network to it\.$/)],
    })
  })

  test('does not keep the front from explaining its problems', async () => {
    const refused = await app(makeRequest('GET', BOX, { headers: bearer() }))
    const answer = await app(makeRequest('GET', String(jsonOf(refused).type), { headers: { 'x-request-id': 'mine' } }))
    expect(answer).toMatchObject({ status: 200, headers: { 'x-request-id': 'mine' } })
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_unavailable', remedy: expect.stringContaining('Retry') })
    const unknown = await app(makeRequest('GET', '/problems/nothing'))
    expect([unknown.status, jsonOf(unknown).code]).toEqual([404, 'route_not_found'])
    const all = await app(makeRequest('HEAD', '/problems', { headers: { accept: 'text/html' } }))
    expect(all).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  })
})

describe('a connection that breaks', () => {
  let connections: string[]
  let server: ReturnType<typeof createTcpServer>
  let app: HttpHandler
  let transport: AgentTransport

  beforeEach(async () => {
    connections = []
    server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', (data) => {
        connections.push(String(data).split(' ')[0] ?? '')
        socket.destroy()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const agentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    ;({ app, transport } = makeFront({ agentUrl, keyring: deployment.keyring }))
  })

  afterEach(async () => {
    await transport.close()
    await new Promise((resolve) => server.close(resolve))
  })

  test('during a GET is retried once', async () => {
    const answer = await app(makeRequest('GET', BOX, { headers: bearer() }))
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_unavailable' })
    expect(connections).toEqual(['GET', 'GET'])
  })

  test.each(['POST', 'DELETE'])('under a %s is never tried again, since it may have been done', async (method) => {
    const target = method === 'POST' ? `${BOX}/stop` : BOX
    await app(makeRequest(method, target, { headers: bearer() }))
    expect(connections).toEqual([method])
  })
})

describe('another server at the address of the agent', () => {
  let server: Server
  afterAll(() => void server.close())

  test('is a protocol error and is not passed on', async () => {
    server = createServer((_request, response) => void response.end('{"projects":["*"]}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const agentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { app, transport } = makeFront({ agentUrl, keyring: deployment.keyring })
    const answer = await app(makeRequest('GET', '/v1/me', { headers: bearer() }))
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_protocol' })
    await transport.close()
  })
})
