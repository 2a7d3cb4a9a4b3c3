import { describe, expect, test } from '@jest/globals'
import { allowOrigins } from '../../../functions/cors.ts'
import type { HttpHandler, HttpRequest, HttpResponse } from '../../../shared/http/messages.ts'
import { buildOpenApiDocument } from '../../../shared/openapi/document.ts'

const PAGE = 'https://app.example.com'
const ANSWER: HttpResponse = { status: 200, headers: { etag: '"1"' }, body: 'x' }
const answer: HttpHandler = async () => ANSWER
const fail: HttpHandler = async () => {
  throw new Error('the handler must not be asked')
}

function requestOf(method: string, headers: Record<string, string>): HttpRequest {
  return {
    ...{ method, target: '/v1/me', headers, clientAddress: '', signal: new AbortController().signal },
    readBody: async () => new Uint8Array(),
    openBody: async function* () {},
  }
}

describe('origins that may call the API', () => {
  test('are none by default', async () => {
    expect(await allowOrigins([], answer)(requestOf('GET', { origin: PAGE }))).toBe(ANSWER)
  })

  test('have preflights answered without a token, of every method and header that an operation takes', async () => {
    const preflight = { origin: PAGE, 'access-control-request-method': 'PUT' }
    const { status, headers } = await allowOrigins([PAGE], fail)(requestOf('OPTIONS', preflight))
    expect([status, headers['access-control-allow-origin'], headers.vary]).toEqual([204, PAGE, 'Origin'])
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
    const { paths } = buildOpenApiDocument() as { paths: Record<string, Record<string, Described>> }
    const methods = new Set(Object.values(paths).flatMap((each) => Object.keys(each)))
    const names = new Set(
      Object.values(paths)
        .flatMap((each) => Object.values(each))
        .flatMap(({ parameters }) => parameters ?? [])
        .filter(({ in: place, name }) => place === 'header' && name !== 'Sec-WebSocket-Protocol')
        .map(({ name }) => name.toLowerCase()),
    )
    expect(String(headers['access-control-allow-methods']).toLowerCase().split(', ')).toEqual(
      expect.arrayContaining([...methods]),
    )
    expect(String(headers['access-control-allow-headers']).split(', ')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', ...names]),
    )
  })

  test('read all headers of answers', async () => {
    const { status, headers, body } = await allowOrigins(
      ['https://b.example.com', PAGE],
      answer,
    )(requestOf('GET', { origin: PAGE }))
    expect([status, body, headers]).toEqual([
      200,
      'x',
      {
        etag: '"1"',
        'access-control-allow-origin': PAGE,
        'access-control-expose-headers': '*',
        vary: 'Origin',
      },
    ])
  })

  test.each(['https://app.example.com:444', 'https://app.example.com.evil.test', 'http://app.example.com', 'null'])(
    'are compared exactly: not %s',
    async (origin) => {
      const preflight = { origin, 'access-control-request-method': 'GET' }
      for (const request of [requestOf('GET', { origin }), requestOf('OPTIONS', preflight)]) {
        const { headers } = await allowOrigins([PAGE], answer)(request)
        expect(headers).toEqual({ etag: '"1"', vary: 'Origin' })
      }
    },
  )

  test('add to what an answer varies by', async () => {
    const negotiated: HttpHandler = async () => ({ ...ANSWER, headers: { vary: 'Accept' } })
    expect((await allowOrigins([PAGE], negotiated)(requestOf('GET', {}))).headers).toEqual({ vary: 'Accept, Origin' })
  })
})

interface Described {
  parameters?: { in: string; name: string }[]
}
