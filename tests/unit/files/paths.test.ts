import { describe, expect, test } from '@jest/globals'
import { formatPath, pathOf } from '../../../agent/handlers/files/paths.ts'
import { formatMode, modeOf } from '../../../agent/handlers/files/view.ts'

const ODD = Buffer.from([0x2f, 0xff, 0x0a])

describe('a path of a request', () => {
  test('is text, or base64 of any bytes', () => {
    expect(Buffer.from(pathOf({ text: '/ä b', base64: undefined, pointer: '/path' })).toString()).toBe('/ä b')
    for (const base64 of [ODD.toString('base64'), ODD.toString('base64url')])
      expect(Buffer.from(pathOf({ text: undefined, base64, pointer: '/path' })).equals(ODD)).toBe(true)
  })

  test.each([
    ['none', undefined, undefined, '/query/path'],
    ['both', '/a', 'L2E=', '/query/path'],
    ['a relative one', undefined, Buffer.from('a').toString('base64'), '/query/path_base64'],
    ['one with a NUL', undefined, Buffer.from('/a\0').toString('base64'), '/query/path_base64'],
    ['an empty one', undefined, '=', '/query/path_base64'],
  ])('%s is refused at its place', (_, text, base64, pointer) => {
    const refusal = { code: 'invalid_request', errors: [expect.objectContaining({ pointer })] }
    expect(() => pathOf({ text, base64, pointer: '/query/path' })).toThrow(expect.objectContaining(refusal))
  })

  test('is returned as text, and as base64 if text cannot represent it', () => {
    expect(formatPath(Buffer.from('/ä'))).toEqual({ path: '/ä', path_base64: null })
    expect(formatPath(ODD)).toEqual({ path: '/\ufffd\n', path_base64: ODD.toString('base64') })
    expect(formatPath(Buffer.from('/\ufffd'))).toEqual({ path: '/\ufffd', path_base64: null })
  })
})

test('a mode is four octal digits', () => {
  expect([formatMode(0o644), formatMode(0o4755), formatMode(0)]).toEqual(['0644', '4755', '0000'])
  expect([modeOf('644'), modeOf('0755'), modeOf(undefined)]).toEqual([0o644, 0o755, null])
})
