import { describe, expect, test } from '@jest/globals'
import { ApiError, ConnectionError } from '../../../sdk/typescript/src/index.ts'
import { errorWords, faultSentence } from '../../../web/src/api/error-words.ts'
import { endOf, endWords } from '../../../web/src/api/session-ends.ts'
import { FieldError, placeFaults } from '../../../web/src/ui/faults.ts'
import { endedName, numberedName } from '../../../web/src/ui/free-name.ts'
import { sortNaturally } from '../../../web/src/ui/natural.ts'

type Faults = ApiError['errors']

const refusal = (code: string, detail: string, errors: Faults = []): ApiError =>
  new ApiError({ code, status: 400, detail, requestId: null, retryable: false, errors }, null)

describe('placeFaults', () => {
  const fields = new Map(
    ['name', 'ram_mb', 'tags', 'env', 'domain', 'box'].map((each) => [each === 'domain' ? 'domains' : each, each]),
  )

  test.each([
    ['/config/ram_mb', 'must be at most 16', 'ram_mb', 'It must be at most 16.'],
    ['/query/name', 'is required', 'name', 'This field is required.'],
    ['/tags/name', 'at most 256 bytes', 'tags', 'At most 256 bytes.'],
    ['/env/A~1B', 'must not hold a NUL character', 'env', '“A/B” must not hold a NUL character.'],
    ['/domains/0', 'must be a domain', 'domain', 'It must be a domain.'],
  ])('%s: %s stands at %s', (pointer, detail, field, words) => {
    const { at, rest } = placeFaults(
      refusal('invalid_request', `${pointer}: ${detail}.`, [{ pointer, detail }]),
      fields,
    )
    expect([...at].map(([name, fault]) => [name, fault.words])).toEqual([[field, words]])
    expect(rest).toBeNull()
  })

  test('what is of no field is left, in words', () => {
    const errors = [
      { pointer: '/name', detail: 'is required' },
      { pointer: '/config/network_mbps', detail: 'must be at least 1' },
    ]
    const { at, rest } = placeFaults(refusal('invalid_request', '', errors), fields)
    expect([...at.keys()]).toEqual(['name'])
    expect(errorWords(rest)).toBe('Network mbps must be at least 1.')
  })

  test('a code stands at what it is about, until that or what it depends on changes', () => {
    const { at } = placeFaults(
      refusal('name_taken', 'The name is taken.'),
      new Map([...fields, ['project', 'project']]),
    )
    expect(at.get('name')).toEqual({ words: 'The name is taken.', endedBy: ['name', 'project'] })
    expect(placeFaults(refusal('quota_exceeded', '2 of 2 boxes are in use.'), fields).at.size).toBe(0)
    expect([...placeFaults(refusal('quota_exceeded', '9 of 9 MiB of memory'), fields).at.keys()]).toEqual(['ram_mb'])
  })

  test('what the page finds itself stands at its field, and other faults at none', () => {
    expect([...placeFaults(new FieldError('env', 'Wrong.'), fields).at.keys()]).toEqual(['env'])
    const other = new Error('Other.')
    expect(placeFaults(other, fields)).toEqual({ at: new Map(), rest: other })
    expect(placeFaults(null, fields).rest).toBeNull()
  })
})

test.each([
  [new ConnectionError('http://here cannot be reached: Failed to fetch', { cause: new TypeError('Failed to fetch') })],
  [new ConnectionError('ws://here refused the connection')],
  [new ConnectionError('the connection is closed')],
])('no words of a network are shown: %s', (error) => expect(errorWords(error)).toBe('Boxyard cannot be reached.'))

test.each([
  [new ConnectionError('The connection was lost.'), 'The connection was lost.'],
  [new TypeError('network error'), 'Something went wrong on this page. Try again, or reload it.'],
  [new DOMException('signal is aborted', 'AbortError'), 'Something went wrong on this page. Try again, or reload it.'],
  [refusal('box_not_found', 'There is no box "x".'), 'There is no box "x".'],
  ['thrown', 'Something went wrong on this page. Try again, or reload it.'],
])('%s is told as it is meant', (error, words) => expect(errorWords(error)).toBe(words))

test('a pointer becomes words', () => {
  expect(faultSentence({ pointer: '/config/ram_mb', detail: 'must be at most 16' })).toBe('Memory must be at most 16.')
  expect(faultSentence({ pointer: '', detail: 'a JSON body is required' })).toBe(
    'The request: a JSON body is required.',
  )
  expect(faultSentence({ pointer: '/lease_seconds', detail: 'is required' })).toBe('Lease is required.')
})

test.each([
  ['token_expired', 'x', 'Your session has expired.'],
  ['token_revoked', 'x', 'Your session, or the token that you signed in with, was revoked.'],
  ['token_invalid', 'Half of it.', 'Boxyard does not accept this session: Half of it.'],
])('a session that is refused as %s says why', (code, message, words) =>
  expect(endWords(endOf({ code, message }, 10_000, 1_000))).toBe(words),
)

test('a session of which half is gone at its end has expired', () => {
  expect(endOf({ code: 'token_invalid', message: 'x' }, 10_000, 9_000)).toEqual({ kind: 'expired' })
})

test('a name that is suggested is free, and as long as names may be', () => {
  expect(numberedName('web', [])).toBe('web-2')
  expect(numberedName('web', ['web-2', 'web-3'])).toBe('web-4')
  expect(numberedName('web-7', [])).toBe('web-8')
  expect(numberedName(`${'a'.repeat(60)}-bc`, [])).toBe(`${'a'.repeat(60)}-2`)
  expect(endedName('web', 'v1', ['web-v1'])).toBe('web-v1-2')
  expect(endedName('a'.repeat(63), 'b'.repeat(63), []).length).toBe(63)
})

test('names are in the order in which people count', () => {
  const sorted = ['box-2', 'box-10', 'box-010', 'box-1', 'a', 'box', 'box-9a']
  expect(sortNaturally(sorted, (name) => name)).toEqual(['a', 'box', 'box-1', 'box-2', 'box-9a', 'box-10', 'box-010'])
})
