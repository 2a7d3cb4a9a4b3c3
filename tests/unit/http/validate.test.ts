import { describe, expect, test } from '@jest/globals'
import type { Operation } from '../../../shared/operation.ts'
import { operations } from '../../../shared/routes.ts'
import { validateRequest } from '../../../shared/validate.ts'

const params = { project: 'demo', name: 'web' }
const query = new URLSearchParams('path=/a&mode=0640&parents=1')
const { writeFile, writeArchive, statFile, listFiles } = operations

function faultsOf(
  operation: Operation,
  given: { query?: URLSearchParams; body?: unknown; isBytes?: boolean },
): unknown {
  try {
    validateRequest(operation, { params, query, body: undefined, ...given })
    return []
  } catch (error) {
    return (error as { errors: { pointer: string; detail: string }[] }).errors.map(({ pointer, detail }) => [
      pointer,
      detail,
    ])
  }
}

describe('a request whose body is bytes', () => {
  test('has its path and query checked, and not its body', () => {
    const input = validateRequest(writeFile, { params, query, body: undefined, isBytes: true })
    expect(input).toEqual({ params, query: { path: '/a', mode: '0640', parents: '1' }, body: undefined })
    expect(faultsOf(writeFile, { query: new URLSearchParams('path=a&x=1'), isBytes: true })).toEqual([
      ['/query/path', 'must be an absolute path'],
      ['/query/x', 'is not a known parameter'],
    ])
  })

  test('that is JSON instead is checked as such', () => {
    const empty = new URLSearchParams()
    expect(faultsOf(writeFile, { query: empty, body: { path: '/a', content: 'x' } })).toEqual([])
    expect(faultsOf(writeFile, { query: empty, body: { path: '/a' } })).toEqual([['/content', expect.any(String)]])
    expect(faultsOf(writeFile, { query: empty })).toEqual([['', 'a JSON body is required']])
  })

  test('that has another type gets the required one', () => {
    const path = new URLSearchParams('path=/a')
    for (const body of [{}, { path: '/a' }, undefined]) {
      expect(faultsOf(writeArchive, { query: path, body })).toEqual([
        ['/headers/content-type', 'must be application/x-tar'],
      ])
    }
    expect(faultsOf(writeArchive, { query: path, isBytes: true })).toEqual([])
  })
})

test('an operation that takes no body refuses one', () => {
  const path = new URLSearchParams('path=/a')
  expect(faultsOf(statFile, { query: path, body: { a: 1 } })).toEqual([['', 'this operation takes no body']])
  expect(faultsOf(statFile, { query: path, body: {} })).toEqual([])
})

test('a parameter __proto__ is refused as unknown', () => {
  expect(faultsOf(statFile, { query: new URLSearchParams('path=/a&__proto__=b') })).toEqual([
    ['/query/__proto__', 'is not a known parameter'],
  ])
})

test('a query that is repeated is one fault, not the last value', () => {
  expect(faultsOf(listFiles, { query: new URLSearchParams('path=/a&path=/b') })).toEqual([
    ['/query/path', expect.any(String)],
  ])
})

test('a query of thousands of names is checked quickly', () => {
  const query = new URLSearchParams(Array.from({ length: 100_000 }, (_, n): [string, string] => [`k${n}`, '']))
  const begun = performance.now()
  expect(() =>
    validateRequest(operations.getBox, { params: { project: 'p', name: 'b' }, query, body: undefined }),
  ).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  // One pass per name took minutes.
  expect(performance.now() - begun).toBeLessThan(10_000)
})
