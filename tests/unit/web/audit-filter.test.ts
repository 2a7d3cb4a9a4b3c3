import { describe, expect, test } from '@jest/globals'
import { auditFilterOf, outcomeText } from '../../../web/src/pages/audit/audit-filter.ts'

describe('what the address of the audit page asks for', () => {
  test('is what the service takes of it', () => {
    expect(auditFilterOf({})).toEqual({})
    expect(auditFilterOf({ actor: 'ci', project: 'demo', operation: 'createBox', status: '403' })).toEqual({
      actor: 'ci',
      project: 'demo',
      operation: 'createBox',
      status: 403,
    })
    expect(auditFilterOf({ project: 'No Name', status: '4', dialog: 'x' })).toEqual({})
  })
})

describe('an answer', () => {
  test('is told in a word', () => {
    expect([200, 202, 403, 503].map(outcomeText)).toEqual(['OK', 'Accepted', 'Refused', 'Failed'])
  })
})
