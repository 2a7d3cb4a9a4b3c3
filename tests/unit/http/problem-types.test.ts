import { describe, expect, test } from '@jest/globals'
import { ERROR_STATUSES, problemOf, ServiceError } from '../../../shared/errors.ts'
import { pagePolicy } from '../../../shared/http/page.ts'
import { answerProblemTypes, problemTypes } from '../../../shared/problem-types.ts'

const ask = (code: string | null, accept?: string, types: '/problems' | '/.boxyard/problems' = '/problems') =>
  answerProblemTypes({ code, accept, types }) ?? { status: 404, headers: {}, body: '' }

describe('every error code', () => {
  test.each([...ERROR_STATUSES.keys()])('%s is explained where its problems lead', (code) => {
    const problem = problemOf(new ServiceError(code, 'Why.'), 'req')
    expect(problem.type).toBe(`/problems/${code}`)
    const { type, title, status, retryable } = problem
    const told = JSON.parse(ask(code).body)
    expect(told).toEqual({
      ...{ type, code, title, status, retryable, catalogue: '/problems' },
      meaning: expect.stringMatching(/^.{10,}\.$/s),
      remedy: expect.stringMatching(/^.{5,}\.$/s),
    })
  })

  test('is listed once', () => {
    expect(JSON.parse(ask(null).body)).toEqual({ problems: problemTypes() })
    expect(problemTypes().map(({ code }) => code)).toEqual([...ERROR_STATUSES.keys()])
  })
})

describe('the form of the answer', () => {
  test.each([undefined, '*/*', 'application/json', 'application/problem+json', 'application/json, text/html;q=0.9'])(
    'is JSON for Accept: %s',
    (accept) => {
      for (const code of [null, 'box_busy'])
        expect(ask(code, accept)).toMatchObject({
          status: 200,
          headers: { 'content-type': 'application/json', vary: 'accept', 'x-content-type-options': 'nosniff' },
        })
    },
  )

  test.each(['text/html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'])(
    'is a page for Accept: %s, which loads nothing and runs nothing',
    (accept) => {
      for (const code of [null, 'box_busy']) {
        const { status, headers, body } = ask(code, accept)
        expect(status).toBe(200)
        expect(headers).toMatchObject({
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': pagePolicy(),
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          vary: 'accept',
        })
        expect(body).toContain('box_busy')
        expect(body).not.toMatch(/<script|src=|https?:|`/)
      }
    },
  )

  test('as a page has all facts of the JSON', () => {
    const body = ask('base_and_fork', 'text/html').body
    expect(body).toContain('<h1>Base and fork together</h1>')
    expect(body).toContain('<code>base_and_fork</code> · status 400')
    expect(body).toContain('The request for a box has both <code>base</code> and <code>fork</code>.')
    expect(body).toContain('The same request will fail again.')
    expect(body).toContain('<a href="/problems">')
    expect(ask('box_busy', 'text/html').body).toContain('The same request may succeed later.')
  })

  test('escapes its texts in HTML', () => {
    expect(ask('token_missing', 'text/html').body).toContain('Bearer &lt;token&gt;')
  })

  test('at the edge links to paths of the edge', () => {
    for (const accept of [undefined, 'text/html'])
      for (const code of [null, 'port_unreachable'])
        expect(ask(code, accept, '/.boxyard/problems').body).not.toMatch(/"\/problems/)
  })
})

test.each(['nothing', '', 'toString', '__proto__', 'box_not_found/x'])('the code %j is unknown', (code) => {
  expect(answerProblemTypes({ code, accept: undefined, types: '/problems' })).toBeNull()
  expect(answerProblemTypes({ code, accept: 'text/html', types: '/problems' })).toBeNull()
})
