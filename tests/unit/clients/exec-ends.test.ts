import { expect, test } from '@jest/globals'
import { ConnectionError } from '../../../sdk/typescript/src/api-error.ts'
import { endByCode, endOfStatus } from '../../../sdk/typescript/src/exec-ends.ts'

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const failure = (message: unknown): unknown => ({ status: 'Failure', details: { causes: [{ message }] } })

test('a success, and failures by a code, are what they say', () => {
  expect(endOfStatus(bytesOf({ status: 'Success' })).exitCode).toBe(0)
  expect(endOfStatus(bytesOf(failure('137'))).exitCode).toBe(137)
  expect(endOfStatus(bytesOf({ status: 'Failure', message: 'lost' }))).toEqual({ exitCode: null, message: 'lost' })
})

test.each(['0', '256', '-1', '1e2', '', 'x', '9'.repeat(400), 0, 7, null, [], {}])(
  'a failure by %j has no code',
  (code) => {
    expect(endOfStatus(bytesOf(failure(code))).exitCode).toBeNull()
  },
)

test.each([{}, [], null, 'Success', 5, { status: 'success' }, { status: ['Success'] }])(
  'an end that is %j is an error of the connection',
  (status) => {
    expect(() => endOfStatus(bytesOf(status))).toThrow(ConnectionError)
  },
)

test.each([256, -1, 0.5, Number.NaN, '0', true, {}])('an exit code that is %p is not known', (code) => {
  expect(endByCode(code, null).exitCode).toBeNull()
})

test('an end tells why a command could not be started, and what was killed', () => {
  const causes = [
    { reason: 'ExitCode', message: '126' },
    { reason: 'Reason', message: 'process_limit_reached' },
  ]
  const refused = { status: 'Failure', message: 'full', details: { causes } }
  expect(endOfStatus(bytesOf(refused))).toEqual({ exitCode: 126, message: 'full', reason: 'process_limit_reached' })
  const kills = (message: unknown): unknown => ({
    ...{ status: 'Success', message: 'Out of memory', details: { causes: [{ reason: 'OomKills', message }] } },
  })
  expect(endOfStatus(bytesOf(kills('2')))).toEqual({ exitCode: 0, message: 'Out of memory', oomKills: 2 })
  for (const odd of ['-1', 'x', '1e400', {}, null])
    expect(endOfStatus(bytesOf(kills(odd)))).toEqual({ exitCode: 0, message: 'Out of memory' })
})
