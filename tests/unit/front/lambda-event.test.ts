import { describe, expect, test } from '@jest/globals'
import type { APIGatewayProxyEventV2 } from 'aws-lambda'
import { fromLambdaEvent, toLambdaResult } from '../../../functions/lambda-event.ts'
import { NOSNIFF } from '../../../shared/http/nosniff.ts'

function eventOf(method: string, change: Partial<APIGatewayProxyEventV2> = {}): APIGatewayProxyEventV2 {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: '/v1/me',
    rawQueryString: '',
    headers: { 'X-Request-Id': 'mine', authorization: 'Bearer t' },
    requestContext: {
      http: { method, path: '/v1/me', protocol: 'HTTP/1.1', sourceIp: '192.0.2.7', userAgent: 'curl' },
    },
    isBase64Encoded: false,
    ...change,
  } as APIGatewayProxyEventV2
}

describe('an event', () => {
  test('becomes a request with lower-case headers, cookies joined and the peer', () => {
    const request = fromLambdaEvent(eventOf('DELETE', { cookies: ['a=1', 'b=2'], rawQueryString: 'x=1&x=2' }))
    expect(request).toMatchObject({
      method: 'DELETE',
      target: '/v1/me?x=1&x=2',
      headers: { 'x-request-id': 'mine', authorization: 'Bearer t', cookie: 'a=1; b=2' },
      clientAddress: '192.0.2.7',
    })
    expect(request.signal.aborted).toBe(false)
  })

  test.each([
    [{ body: 'grüß' }, Buffer.from('grüß')],
    [{ body: Buffer.from([0, 255, 10]).toString('base64'), isBase64Encoded: true }, Buffer.from([0, 255, 10])],
    [{}, Buffer.alloc(0)],
  ])('with %j has the bytes of its body', async (change, bytes) => {
    const body = await fromLambdaEvent(eventOf('POST', change)).readBody(100)
    expect(Buffer.compare(Buffer.from(body), bytes)).toBe(0)
  })

  test('whose body is too long is refused when it is read', async () => {
    const request = fromLambdaEvent(eventOf('POST', { body: 'x'.repeat(101) }))
    await expect(request.readBody(100)).rejects.toMatchObject({ code: 'body_too_large' })
    await expect(request.readBody(101)).resolves.toHaveLength(101)
  })

  test.each([
    ['/v1/projects/a b/boxes', '/v1/projects/a%20b/boxes'],
    ['/v1/projects/ü/boxes', '/v1/projects/%C3%BC/boxes'],
    ['/v1/a%2Fb', '/v1/a%2Fb'],
    ['/v1/a?b#c', '/v1/a%3Fb%23c'],
    ['/\ud800\n', '/%EF%BF%BD%0A'],
  ])('whose path is %j has target %s', (rawPath, target) => {
    expect(fromLambdaEvent(eventOf('GET', { rawPath })).target).toBe(target)
  })
})

describe('a result', () => {
  test('carries text as it is', async () => {
    const headers = { 'content-type': 'application/problem+json', etag: '"1"' }
    expect(await toLambdaResult({ status: 404, headers, body: '{"ü":1}' }, 'GET')).toEqual({
      statusCode: 404,
      headers: { ...headers, ...NOSNIFF },
      body: '{"ü":1}',
      isBase64Encoded: false,
    })
  })

  test.each(['application/octet-stream', 'application/x-tar', ''])('carries %s as base64', async (type) => {
    const body = Buffer.from([0, 255])
    const result = await toLambdaResult({ status: 200, headers: { 'content-type': type }, body }, 'GET')
    expect(result).toMatchObject({ body: 'AP8=', isBase64Encoded: true })
  })

  test('carries a stream whole, within what a function may return', async () => {
    async function* parts(count: number) {
      for (let i = 0; i < count; i++) yield Buffer.alloc(1024 * 1024, 'x')
    }
    const headers = { 'content-type': 'text/plain' }
    const result = await toLambdaResult({ status: 200, headers, body: parts(3) }, 'GET')
    expect(result.body).toHaveLength(3 * 1024 * 1024)
    await expect(toLambdaResult({ status: 200, headers, body: parts(5) }, 'GET')).rejects.toMatchObject({
      code: 'agent_protocol',
    })
  })

  test('puts every cookie where API Gateway wants it', async () => {
    const headers = { 'set-cookie': ['a=1', 'b=2'], 'x-a': ['1', '2'] }
    expect(await toLambdaResult({ status: 204, headers, body: null }, 'GET')).toEqual({
      statusCode: 204,
      headers: { 'x-a': '1, 2', ...NOSNIFF },
      cookies: ['a=1', 'b=2'],
    })
  })

  test('of HEAD has the length and no body', async () => {
    const response = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }
    expect(await toLambdaResult(response, 'HEAD')).toEqual({
      statusCode: 200,
      headers: { 'content-type': 'application/json', 'content-length': '2', ...NOSNIFF },
    })
  })

  test('of HEAD closes a streamed body, and has the declared length', async () => {
    let pulled = 0
    let closed = 0
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          pulled++
          return { done: false, value: Buffer.alloc(1) }
        },
        return: async () => {
          closed++
          return { done: true, value: undefined }
        },
      }),
    }
    const response = { status: 200, headers: { 'content-length': '99999999' }, body }
    expect(await toLambdaResult(response, 'HEAD')).toEqual({
      statusCode: 200,
      headers: { 'content-length': '99999999', ...NOSNIFF },
    })
    expect([pulled, closed]).toEqual([0, 1])
  })
})
