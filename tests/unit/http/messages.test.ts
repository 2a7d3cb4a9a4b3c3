import { describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { bearerToken, givenRequestId, isJsonType, problemResponse, readJson } from '../../../shared/http/messages.ts'

const JSON_TYPE = 'application/json'

describe('a JSON body', () => {
  test.each([
    ['{"a":[1,"]}{["],"b":"\\\\"}', { a: [1, ']}{['], b: '\\' }],
    ['"\\""', '"'],
    [' null ', null],
    ['', undefined],
  ])('%s is read', (text, value) => {
    expect(readJson(Buffer.from(text), JSON_TYPE)).toEqual(value)
  })

  test.each(['{', '{"a":1,}', "{'a':1}", '1 2', 'NaN', '"\\"', '\ufeff{}', '{"a":"\u0000"}'])(
    '%j is invalid',
    (text) => {
      expect(() => readJson(Buffer.from(text), JSON_TYPE)).toThrow(expect.objectContaining({ code: 'invalid_json' }))
    },
  )

  test.each([
    '{"__proto__":1}',
    '{"a":[{"__proto__" :{}}]}',
    '{"\\u005f_proto__":1}',
    '{"__pr\\u006Fto__":1}',
    `{"${[...'__proto__'].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')}":1}`,
  ])('%s names a field that validators skip', (text) => {
    expect(() => readJson(Buffer.from(text), JSON_TYPE)).toThrow(expect.objectContaining({ code: 'invalid_json' }))
  })

  test.each(['{"a":"__proto__"}', '{"a":"\\"__proto__\\":"}', '{"\\\\u005f_proto__":1}', '{"_\\u005fproto":1}'])(
    '%s does not',
    (text) => expect(() => readJson(Buffer.from(text), JSON_TYPE)).not.toThrow(),
  )

  test('that is not UTF-8 is invalid', () => {
    const body = Buffer.from([0x22, 0xc3, 0x28, 0x22])
    expect(() => readJson(body, JSON_TYPE)).toThrow(expect.objectContaining({ code: 'invalid_json' }))
  })

  test.each([
    ['fields', 1_024, (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')}}`],
    ['elements', 8_192, (count: number) => `[${Array.from({ length: count }, () => '{}').join(',')}]`],
  ])('of many %s is read up to %i of them', (_name, max, textOf) => {
    const read = (text: string) => () => readJson(Buffer.from(text), JSON_TYPE)
    expect(read(textOf(max))).not.toThrow()
    expect(read(textOf(max + 1))).toThrow(expect.objectContaining({ code: 'invalid_json' }))
    // Commas and colons inside strings do not count.
    expect(read(`{"text":"${',:'.repeat(10_000)}"}`)).not.toThrow()
  })

  test.each([64, 65, 10_000, 500_000])('%i levels deep is read only up to 64', (depth) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const text = `${open.repeat(depth)}1${close.repeat(depth)}`
      const read = () => readJson(Buffer.from(text), JSON_TYPE)
      if (depth <= 64) expect(read).not.toThrow()
      else expect(read).toThrow(expect.objectContaining({ code: 'invalid_json' }))
    }
  })

  test('of backslashes and quotes is scanned quickly', () => {
    const body = Buffer.from(`["${'\\\\'.repeat(250_000)}","${'\\"'.repeat(250_000)}"]`)
    const startedAt = performance.now()
    readJson(body, JSON_TYPE)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  test.each([undefined, '', 'text/plain', 'application/jsonx', 'application/json; charset=latin1', 'application/xml'])(
    'of type %s is an unsupported media type',
    (type) => {
      expect(() => readJson(Buffer.from('{}'), type)).toThrow(
        expect.objectContaining({ code: 'unsupported_media_type', status: 415 }),
      )
    },
  )

  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
  ])('of type %s is taken', (type) => {
    expect(readJson(Buffer.from('{}'), type)).toEqual({})
  })
})

describe('whether a body is JSON', () => {
  test.each(['application/json', 'Application/JSON ', 'application/json;charset=latin1', 'application/json ;x'])(
    '%j is',
    (type) => expect(isJsonType(type)).toBe(true),
  )

  test.each([undefined, '', 'application/jsonx', 'application/octet-stream', 'text/json', 'application/x-tar'])(
    '%j is not',
    (type) => expect(isJsonType(type)).toBe(false),
  )
})

describe('the request id', () => {
  test.each(['a', 'x'.repeat(128), 'with space and ~'])('%s is taken from the client', (id) => {
    expect(givenRequestId({ 'x-request-id': id })).toBe(id)
  })

  test.each(['', 'x'.repeat(129), 'a\tb', 'ü', undefined])('%j is not', (id) => {
    expect(givenRequestId({ 'x-request-id': id })).toBeUndefined()
  })
})

describe('the bearer token', () => {
  test.each([
    ['Bearer abc', 'abc'],
    ['bearer  abc ', 'abc'],
    ['Basic abc', undefined],
    ['Bearer', undefined],
    ['Bearer a b', undefined],
    ['Bearer a, Bearer b', undefined],
  ])('of %j is %j', (authorization, token) => {
    expect(bearerToken({ authorization })).toBe(token)
  })
})

describe('a problem', () => {
  test('carries the headers of its error, and of a 401 the scheme', () => {
    const notAllowed = problemResponse(
      new ServiceError('method_not_allowed', 'No.', { headers: { Allow: 'GET' } }),
      'r',
    )
    expect(notAllowed).toMatchObject({ status: 405, headers: { allow: 'GET', 'x-request-id': 'r' } })
    expect(problemResponse(new ServiceError('token_missing', 'No.'), 'r').headers).toMatchObject({
      'www-authenticate': 'Bearer',
    })
  })

  test('of a foreign error contains nothing of it', () => {
    const response = problemResponse(new TypeError('/secret/path'), 'r')
    expect(response.status).toBe(500)
    expect(response.body).not.toContain('secret')
  })
})
