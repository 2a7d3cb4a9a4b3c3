import { describe, expect, test } from '@jest/globals'
import { createJsonLogger } from '../../../shared/log.ts'

function logged(fields: Record<string, unknown>, message = 'said'): Record<string, unknown> {
  const lines: string[] = []
  createJsonLogger({ level: 'debug', now: () => 0, write: (line) => lines.push(line) }).info(message, fields)
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>
}

describe('a log line', () => {
  test('is one JSON object with time, level, message and fields', () => {
    expect(logged({ box: 'box_1', count: 2, big: 3n })).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      level: 'info',
      message: 'said',
      box: 'box_1',
      count: 2,
      big: '3',
    })
  })

  const secret = 'eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJ0b2tfMSJ9.c2lnbmF0dXJl'
  const hidden: [string, Record<string, unknown>][] = [
    [
      'a secret by its key',
      { headers: { Authorization: `Bearer ${secret}` }, token: 'abc', environment: { A: 'abc' } },
    ],
    ['a token in a text', { text: `sent ${secret} along` }],
    ['a bearer in a text', { text: 'Authorization: Bearer abc.def' }],
    [
      'a token in an error, its cause and its stack',
      { error: new Error(`no ${secret}`, { cause: new Error(secret) }) },
    ],
    ['a token deep inside', { a: { b: [{ c: secret }] } }],
  ]
  test.each(hidden)('hides %s', (_title, fields) => {
    const text = JSON.stringify(logged(fields))
    expect(text).toContain('[redacted]')
    expect(text).not.toContain('eyJhbGci')
    expect(text).not.toMatch(/abc/)
  })

  test('hides a token in the message, and cuts cyclic values', () => {
    const endless: Record<string, unknown> = {}
    endless.self = endless
    const line = logged({ endless }, `hello ${secret}`)
    expect(line.message).toBe('hello [redacted]')
  })

  test('below the level is not written', () => {
    const lines: string[] = []
    const logger = createJsonLogger({ level: 'warn', now: () => 0, write: (line) => lines.push(line) })
    logger.info('quiet')
    logger.child({ part: 'x' }).error('loud')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ part: 'x', level: 'error' })
  })
})
