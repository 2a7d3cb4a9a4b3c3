import { beforeAll, describe, expect, test } from '@jest/globals'
import type { TokenClaims } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { HttpRequest } from '../../../shared/http/messages.ts'
import { jsonOf, makeDeployment, makeFront, makeRecorder, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const BOX = '/v1/projects/demo/boxes/web'
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
})

const bearer = (extra: Record<string, string> = {}) => ({ authorization: `Bearer ${token}`, ...extra })

describe('requests that the front refuses itself', () => {
  const { app } = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring })

  test.each([
    ['an unknown route', 'GET', '/v1/nothing', undefined, 'route_not_found'],
    ['a wrong method', 'PATCH', BOX, undefined, 'method_not_allowed'],
    ['broken JSON', 'POST', '/v1/projects/demo/boxes', '{', 'invalid_json'],
    ['an unknown field', 'POST', '/v1/projects/demo/boxes', '{"name":"a","nmae":1}', 'invalid_request'],
    ['an unknown query', 'GET', `${BOX}?verbose=1`, undefined, 'invalid_request'],
    ['a bad name', 'GET', '/v1/projects/demo/boxes/..%2F..%2Fetc', undefined, 'invalid_request'],
    ['a broken escape', 'GET', '/v1/projects/demo/boxes/%zz', undefined, 'route_not_found'],
  ])('%s never reaches the agent', async (_name, method, target, body, code) => {
    const given = { headers: bearer({ 'x-request-id': 'mine' }), ...(body === undefined ? {} : { body }) }
    const answer = await app(makeRequest(method, target, given))
    expect(jsonOf(answer)).toMatchObject({ code, request_id: 'mine' })
    expect(answer.headers['x-request-id']).toBe('mine')
  })

  test('a wrong method is answered with the right ones', async () => {
    const answer = await app(makeRequest('PATCH', BOX, { headers: bearer() }))
    expect(answer.headers.allow).toBe('DELETE, GET, HEAD, PUT')
  })

  test('a body that is too long for its route', async () => {
    const request = { ...makeRequest('POST', '/v1/projects/demo/boxes', { headers: bearer() }) }
    const readBody = (maxBytes: number) => Promise.reject(new ServiceError('body_too_large', `At most ${maxBytes}.`))
    const answer = await app({ ...request, readBody })
    expect(jsonOf(answer)).toMatchObject({ code: 'body_too_large', status: 413 })
  })

  test('a client id that is too long is replaced', async () => {
    const answer = await app(makeRequest('GET', '/nothing', { headers: { 'x-request-id': 'x'.repeat(129) } }))
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
  })

  test('never shows a token in its log', async () => {
    const recorder = makeRecorder()
    const front = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring, logger: recorder.logger })
    await front.app(makeRequest('GET', BOX, { headers: bearer() }))
    await front.app(makeRequest('GET', BOX, { headers: { authorization: `Bearer ${token}x` } }))
    expect(recorder.lines.length).toBeGreaterThan(1)
    expect(JSON.stringify(recorder.lines)).not.toContain(token.slice(0, 40))
  })
})

describe('the audit log of the front', () => {
  const AUDITED = { headers: { 'x-request-id': 'mine' } }
  const BOXES = '/v1/projects/demo/boxes'
  const claims = { jti: 'tok_00000000000000000000000009', sub: 'guest', projects: ['demo'], permissions: ['read'] }

  async function linesOf(request: HttpRequest): Promise<unknown[]> {
    const { logger: audit, lines } = makeRecorder()
    const { app } = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring, audit })
    await app(request)
    return lines.map(({ level, message, fields }) => ({ level, message, ...fields }))
  }

  test.each([
    ['a missing token', {}, BOX, 401, 'token_missing'],
    ['an invalid token', { token: 'x.y.z' }, BOX, 401, 'token_invalid'],
    ['an expired token', { claims: { ...claims, exp: 1 } }, BOX, 401, 'token_expired'],
    ['a foreign project', { claims }, '/v1/projects/other/boxes/web', 403, 'permission_denied'],
  ] as const)('has one line for %s', async (_name, by, target, status, code) => {
    const given =
      'claims' in by ? await deployment.mint(by.claims as Partial<TokenClaims>) : 'token' in by ? by.token : ''
    const headers = { ...AUDITED.headers, ...(given === '' ? {} : { authorization: `Bearer ${given}` }) }
    const isKnown = status === 403
    expect(await linesOf(makeRequest('GET', target, { headers }))).toEqual([
      {
        level: 'info',
        message: 'audit',
        audit: true,
        operation: 'getBox',
        method: 'GET',
        target,
        actor: isKnown ? claims.jti : null,
        actor_name: isKnown ? claims.sub : null,
        client_address: '192.0.2.1',
        request_id: 'mine',
        duration_ms: expect.any(Number),
        status,
        code,
      },
    ])
  })

  test('has one line for a permission that is missing', async () => {
    const headers = { authorization: `Bearer ${await deployment.mint(claims as Partial<TokenClaims>)}` }
    const lines = await linesOf(makeRequest('POST', BOXES, { headers, body: '{"name":"a"}' }))
    expect(lines).toMatchObject([{ operation: 'createBox', actor: claims.jti, status: 403, code: 'permission_denied' }])
  })

  test.each([
    ['an unknown field', '{"nmae":1}', 400, 'invalid_request'],
    ['broken JSON', '{', 400, 'invalid_json'],
  ])('has one line for a mutation refused for %s', async (_name, body, status, code) => {
    const lines = await linesOf(makeRequest('POST', BOXES, { headers: bearer(), body }))
    expect(lines).toMatchObject([{ operation: 'createBox', actor_name: 'test', status, code }])
  })

  test('has none for an invalid read, an unknown route, or an unavailable agent', async () => {
    expect(await linesOf(makeRequest('GET', `${BOX}?verbose=1`, { headers: bearer() }))).toEqual([])
    expect(await linesOf(makeRequest('POST', '/v1/nothing', { headers: bearer() }))).toEqual([])
    expect(await linesOf(makeRequest('POST', `${BOX}/stop`, { headers: bearer() }))).toEqual([])
  })
})
