import { describe, expect, test } from '@jest/globals'
import { matchOperation } from '../../../shared/match.ts'
import { OPERATIONS } from '../../../shared/routes.ts'

const BOX = '/v1/projects/demo/boxes/web'

describe('a path', () => {
  test.each(OPERATIONS.map((operation) => [operation.id, operation] as const))('of %s names it', (id, operation) => {
    const pathname = operation.path.replaceAll(/\{\w+\}/g, 'any')
    expect(matchOperation(operation.method, pathname).operation.id).toBe(id)
  })

  test('with a literal segment is preferred to one with a parameter', () => {
    expect(matchOperation('GET', `${BOX}/exec/ws`)).toMatchObject({ operation: { id: 'streamExec' } })
    expect(matchOperation('GET', `${BOX}/exec/wss`)).toMatchObject({ operation: { id: 'getExec' } })
  })

  test('is decoded a segment at a time, once', () => {
    expect(matchOperation('HEAD', '/v1/projects/de%2Fmo/boxes/w%2565b').params).toEqual({
      project: 'de/mo',
      name: 'w%65b',
    })
    expect(() => matchOperation('GET', '/v1/projects/%zz/boxes')).toThrow(
      expect.objectContaining({ code: 'route_not_found' }),
    )
  })

  test('that takes other methods lists each once', () => {
    expect(() => matchOperation('DELETE', `${BOX}/exec/ws`)).toThrow(
      expect.objectContaining({ code: 'method_not_allowed', headers: { Allow: 'GET, HEAD' } }),
    )
  })
})
