import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { toLambdaResult } from '../../../functions/lambda-event.ts'
import type { AgentTransport } from '../../../functions/transport.ts'
import type { HttpHandler, HttpRequest } from '../../../shared/http/messages.ts'
import { OPERATIONS } from '../../../shared/routes.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { jsonOf, makeDeployment, makeFront, makeRecorder, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const FILES = '/v1/projects/demo/boxes/web/files'
const WRITE = `${FILES}/write?path=/a`
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
})

const bearer = (extra: Record<string, string> = {}) => ({ authorization: `Bearer ${token}`, ...extra })

/** Returns a request that throws when its body is read. */
function unread(method: string, target: string, headers: Record<string, string> = {}): HttpRequest {
  const touched = (): never => {
    throw new Error('the body was asked for')
  }
  return { ...makeRequest(method, target, { headers }), readBody: touched, openBody: touched }
}

describe.each(['pool', 'node'] as const)('bytes over the %s transport', (kind) => {
  let agent: FakeAgent
  let app: HttpHandler
  let transport: AgentTransport
  const audit = makeRecorder()

  beforeEach(async () => {
    agent = await startFakeAgent(() => deployment.channelKeys)
    audit.lines.length = 0
    const { keyring } = deployment
    ;({ app, transport } = makeFront({ agentUrl: agent.url, keyring, kind, audit: audit.logger }))
  })

  afterEach(async () => {
    await agent.close()
    await transport.close()
  })

  test.each([
    ['none', ''],
    ['some', '\0\xff{not json'],
  ])('are passed on unchanged and signed whole while they are few: %s', async (_name, text) => {
    const body = Buffer.from(text, 'latin1')
    const headers = bearer({ 'content-type': 'application/octet-stream', 'if-none-match': '*' })
    const answer = await app(makeRequest('PUT', WRITE, { headers, body }))
    expect(answer.status).toBe(200)
    expect(agent.seen).toMatchObject([{ method: 'PUT', target: WRITE, headers: { 'if-none-match': '*' }, bytes: null }])
    expect(agent.seen[0]?.body).toEqual(body)
  })

  test('of a JSON type are read as JSON', async () => {
    const type = { 'content-type': 'application/json; charset=utf-8' }
    const broken = await app(makeRequest('PUT', WRITE, { headers: bearer(type), body: '{' }))
    expect(jsonOf(broken)).toMatchObject({ code: 'invalid_json' })
    const body = JSON.stringify({ path: '/a', content: 'x' })
    expect(await app(makeRequest('PUT', `${FILES}/write`, { headers: bearer(type), body }))).toMatchObject({
      status: 200,
    })
    const tar = await app(makeRequest('PUT', `${FILES}/archive?path=/a`, { headers: bearer(type), body: '{}' }))
    expect(jsonOf(tar)).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/headers/content-type' }] })
  })

  test('are not requested before the rest of the request is valid', async () => {
    const other = `Bearer ${await deployment.mint({ permissions: ['read'] })}`
    const refused: [HttpRequest, string][] = [
      [unread('PUT', WRITE), 'token_missing'],
      [unread('PUT', WRITE, { authorization: 'Bearer x.y.z' }), 'token_invalid'],
      [unread('PUT', WRITE, { authorization: other }), 'permission_denied'],
      [unread('PUT', `${FILES}/write?path=a`, bearer()), 'invalid_request'],
      [unread('PUT', `${WRITE}&x=1`, bearer()), 'invalid_request'],
      [unread('PUT', `${FILES}/archive?path=a`, bearer({ 'content-type': 'application/x-tar' })), 'invalid_request'],
    ]
    for (const [request, code] of refused) expect(jsonOf(await app(request))).toMatchObject({ code })
    expect(agent.seen).toEqual([])
  })

  test('pass with a ticket, which only the agent can check', async () => {
    const target = `${FILES}/write?ticket=secret&path=/a`
    expect(await app(makeRequest('PUT', target, { headers: { 'content-type': 'x/y' }, body: 'a' }))).toMatchObject({
      status: 200,
    })
    expect(await app(makeRequest('GET', `${FILES}/read?path=/a&ticket=secret`))).toMatchObject({ status: 200 })
    expect(agent.seen.map((seen) => seen.target)).toEqual([target, `${FILES}/read?path=/a&ticket=secret`])
  })

  test('with a ticket and a token are checked by the token', async () => {
    const authorization = `Bearer ${await deployment.mint({ permissions: ['read'] })}`
    const answer = await app(unread('PUT', `${WRITE}&ticket=secret`, { authorization }))
    expect(jsonOf(answer)).toMatchObject({ code: 'permission_denied' })
  })

  test('leave no ticket in a log, and a ticket permits no other operation', async () => {
    expect(jsonOf(await app(unread('PUT', `${FILES}/write?path=a&ticket=secret`)))).toMatchObject({
      code: 'invalid_request',
    })
    expect(jsonOf(await app(unread('GET', `${FILES}/stat?path=/a&ticket=secret`)))).toMatchObject({
      code: 'token_missing',
    })
    expect(audit.lines.map(({ fields }) => fields.target)).toEqual([`${FILES}/write?path=a`, `${FILES}/stat?path=/a`])
    expect(JSON.stringify(audit.lines)).not.toContain('secret')
  })

  test('as JSON are read up to 6 MiB with a token, and up to 64 KiB without', async () => {
    const asked: number[] = []
    const readBody = async (maxBytes: number) => {
      asked.push(maxBytes)
      return Buffer.from('{"path":"/a","content":""}')
    }
    const json = { 'content-type': 'application/json' }
    for (const [query, headers] of [
      ['', bearer(json)],
      ['?ticket=secret', json],
    ] as const) {
      const answer = await app({ ...makeRequest('PUT', `${FILES}/write${query}`, { headers }), readBody })
      expect(answer.status).toBe(200)
    }
    expect(asked).toEqual([6_291_456, 65_536])
  })

  test("that are too large for this address are redirected to the agent's data address", async () => {
    const location = 'https://data.example.org/v1/x?path=%2Fa&ticket=abc'
    agent.respond = () => ({ status: 307, headers: { location }, body: null })
    const answer = await app(makeRequest('GET', `${FILES}/read?path=/a`, { headers: bearer() }))
    expect(answer).toMatchObject({ status: 307, headers: { location } })
    expect(await toLambdaResult(answer, 'GET')).toMatchObject({ statusCode: 307, headers: { location } })
  })

  test("are requested up to the limit of the front's host", async () => {
    for (const given of [{}, { prefer: 'respond-async' }, { prefer: 'answer-bytes-max=9999999999' }]) {
      await app(makeRequest('GET', `${FILES}/archive?path=/a`, { headers: bearer(given) }))
    }
    await app(makeRequest('GET', `${FILES}/stat?path=/a`, { headers: bearer() }))
    const own = kind === 'node' ? 'answer-bytes-max=4194304' : undefined
    const after = (text: string) => (own ? `${own}, ${text}` : text)
    expect(agent.seen.map(({ headers }) => headers.prefer)).toEqual([
      own,
      after('respond-async'),
      after('answer-bytes-max=9999999999'),
      undefined,
    ])
  })
})

describe('a WebSocket request without an upgrade', () => {
  test.each(['console', 'exec/ws?command=a'])('of %s is 426, with a valid token', async (path) => {
    const { app } = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring })
    const target = `/v1/projects/demo/boxes/web/${path}`
    const answer = await app(makeRequest('GET', target, { headers: bearer() }))
    expect(answer).toMatchObject({ status: 426, headers: { upgrade: 'websocket' } })
    expect(jsonOf(answer)).toMatchObject({ code: 'upgrade_required' })
    expect(jsonOf(await app(makeRequest('GET', target)))).toMatchObject({ code: 'token_missing' })
  })
})

test('an operation that takes bytes takes the largest event of API Gateway whole', () => {
  const taking = OPERATIONS.filter(({ bytesIn }) => bytesIn !== null)
  expect(taking.map(({ id, maxBodyBytes }) => [id, maxBodyBytes])).toEqual([
    ['writeFile', 6_291_456],
    ['writeArchive', 6_291_456],
    ['createBase', 6_291_456],
  ])
})
