import { beforeEach, describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { type CallOptions, createClient } from '../../helpers/front/client.ts'
import type { FakeAgent, SeenRequest } from '../../helpers/front/fake-agent.ts'

/** A front under test, in front of an agent that answers as scripted. */
export interface FrontUnderTest {
  url(): string
  /** A token with all permissions except `exec`, in all projects. */
  token(): string
  agent(): FakeAgent
}

/**
 * Defines the contract of every host of the functions: pass a good request and its answer on unchanged, and answer a bad request without
 * the agent. Tests of the standalone front prove the agent's handling of requests once.
 */
export function defineFrontContract({ url, token, agent }: FrontUnderTest): void {
  const client = createClient(url, token)

  let received: Buffer

  beforeEach(() => {
    agent().seen.length = 0
    agent().respond = async (seen) => {
      received = await bodyOf(seen)
      return jsonResponse(200, { target: seen.target })
    }
  })

  describe('a good request reaches the agent unchanged', () => {
    test.each(REQUESTS)('%s %s', async (method, path, options) => {
      const answer = await client.call(method, path, options)
      expect([answer.status, answer.body]).toEqual([200, { target: path }])
      // A front may check that the agent is reachable before it sends a long body.
      const [seen, ...more] = agent().seen.filter((each) => each.target !== '/version')
      expect(more).toEqual([])
      expect([seen?.method, seen?.target]).toEqual([method, path])
      expect(received).toEqual(sentBody(options))
      const { 'content-type': _, ...headers } = options.headers ?? {}
      const type =
        received.length === 0 ? {} : { 'content-type': options.headers?.['content-type'] ?? 'application/json' }
      expect(seen?.headers).toMatchObject({ ...headers, ...type, authorization: `Bearer ${token()}` })
      expect(answer.headers['x-request-id']).toBe(seen?.headers['x-request-id'])
    })

    test('of twenty at once each gets its own answer', async () => {
      const paths = Array.from({ length: 20 }, (_, index) => `${BOXES}/box-${index}`)
      const answers = await Promise.all(paths.map((path) => client.get(path)))
      expect(answers.map(({ body }) => body.target)).toEqual(paths)
    })
  })

  describe("the agent's answer passes back unchanged", () => {
    test.each(ANSWERS)('%s', async (_what, given) => {
      agent().respond = () => given
      const answer = await client.get(READ)
      const { status, headers = {}, body } = given
      expect([answer.status, answer.bytes]).toEqual([status, Buffer.from(body as string | Uint8Array)])
      expect(answer.headers).toMatchObject(headers)
    })

    test('HEAD has the headers and no body', async () => {
      agent().respond = () => ({ status: 200, headers: { 'content-type': 'text/plain', etag: '"1"' }, body: 'hello' })
      const answer = await client.call('HEAD', READ)
      expect([answer.status, answer.bytes.length, answer.headers['etag']]).toEqual([200, 0, '"1"'])
    })

    test.each(['box_not_found', 'box_not_running', 'storage_full', 'runtime_unavailable'] as const)(
      'the problem %s has its status, code and words',
      async (code) => {
        const error = new ServiceError(code, 'as the agent words it')
        agent().respond = () => Promise.reject(error)
        const answer = await client.get(`${BOXES}/web`)
        expect([answer.status, answer.body]).toEqual([
          error.status,
          expect.objectContaining({ code, detail: 'as the agent words it', status: error.status }),
        ])
        expect(answer.headers['content-type']).toContain('application/problem+json')
      },
    )
  })

  describe('a bad request is answered without the agent', () => {
    test.each(REFUSED)('%s', async (_what, [method, path, options], status, code) => {
      const answer = await client.call(method, path, options)
      expect([answer.status, answer.body.code]).toEqual([status, code])
      expect(answer.headers['x-request-id']).toEqual(expect.any(String))
      expect(agent().seen).toEqual([])
    })
  })
}

/** Returns the agent's whole received body, which fronts may stream. */
async function bodyOf({ body, bytes }: SeenRequest): Promise<Buffer> {
  const pieces = [body]
  for await (const piece of bytes ?? []) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

function sentBody({ raw, body }: CallOptions): Buffer {
  return Buffer.from(raw ?? (body === undefined ? '' : JSON.stringify(body)))
}

const BOXES = '/v1/projects/demo/boxes'
const READ = `${BOXES}/web/files/read?path=/a`
const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const BYTES = { 'content-type': 'application/octet-stream' }

type Request = [method: string, path: string, options: CallOptions]

const REQUESTS: Request[] = [
  ['GET', `${BOXES}/web`, { headers: { 'if-none-match': '"7"' } }],
  ['GET', `${BOXES}?tag=a%3Db&tag=c%3Dd&status=running`, {}],
  ['GET', `${BOXES}/web/files/read?path=%2Fa%2F%C3%A4%2B%26c`, { headers: { accept: 'text/plain' } }],
  ['DELETE', `${BOXES}/web`, { headers: { 'if-match': '"3"' } }],
  ['POST', BOXES, { body: { name: 'web', tags: { mark: 'ä ✓' } }, headers: { 'idempotency-key': 'once' } }],
  ['PUT', `${BOXES}/web`, { body: { config: { cpus: 2 } }, headers: { 'if-match': '"3"' } }],
  ['POST', `${BOXES}/web/stop`, {}],
  ['PUT', `${BOXES}/web/files/write?path=%2Fa`, { raw: EVERY_BYTE, headers: BYTES }],
  ['PUT', `${BOXES}/web/files/write?path=%2Fa`, { raw: Buffer.alloc(64 * 1024, 'boxyard '), headers: BYTES }],
  ['PUT', `${BOXES}/web/files/write?path=%2Fempty`, { raw: '', headers: BYTES }],
]

const ANSWERS: [string, HttpResponse][] = [
  ['201 with its headers', { status: 201, headers: { location: `${BOXES}/web`, etag: '"1"' }, body: '{"a":1}' }],
  ['202', { status: 202, headers: { 'retry-after': '1' }, body: '{}' }],
  ['204 without a body', { status: 204, headers: {}, body: '' }],
  ['text in any script', { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'ä ✓ 🚀' }],
  ['every byte', { status: 200, headers: BYTES, body: EVERY_BYTE }],
  ['a part of a file', { status: 206, headers: { ...BYTES, 'content-range': 'bytes 1-2/9' }, body: 'ab' }],
  ['64 KiB', { status: 200, headers: BYTES, body: Buffer.alloc(64 * 1024, 'boxyard ') }],
]

const REFUSED: [string, Request, number, string][] = [
  ['no token', ['GET', `${BOXES}/web`, { token: null }], 401, 'token_missing'],
  ['a token that is none', ['GET', `${BOXES}/web`, { token: 'byt_no' }], 401, 'token_invalid'],
  [
    'a permission that the token lacks',
    ['POST', `${BOXES}/web/exec`, { body: { command: ['id'] } }],
    403,
    'permission_denied',
  ],
  ['an unknown path', ['GET', '/v1/nothing', {}], 404, 'route_not_found'],
  ['a method that the path has not', ['PATCH', `${BOXES}/web`, {}], 405, 'method_not_allowed'],
  ['an unknown field', ['POST', BOXES, { body: { name: 'web', colour: 'red' } }], 400, 'invalid_request'],
  ['a body that is no JSON', ['POST', BOXES, { raw: '{' }], 400, 'invalid_json'],
  ['an unknown parameter of the query', ['GET', `${BOXES}?colour=red`, {}], 400, 'invalid_request'],
  ['a name that is none', ['GET', `${BOXES}/UPPER`, {}], 400, 'invalid_request'],
]
