import { expect, test } from '@jest/globals'
import { failedStart, MissingRoot, settleRecord } from '../../../agent/core/reconcile/outcome.ts'
import { READY, STOPPED } from '../../../agent/core/reconcile/plan.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'

const AWAY = new ServiceError('runtime_unavailable', 'The node has not started its pod.')
const observed = { status: 'running', reason: 'ready', message: null, since: 1, bootId: 'boot' } as const
const asked = boxRecord({ desired: { power: 'running', generation: 2 }, observed: { ...observed, generation: 1 } })
const owed = boxRecord({ desired: { power: 'running', generation: 2 }, observed: { ...observed, generation: 2 } })

test('a requested start fails when the runtime cannot make it', () => {
  const message = 'The start failed. The node has not started its pod.'
  expect(failedStart(asked)(AWAY)).toEqual({ status: 'stopped', reason: 'failed', message, power: 'stopped' })
})

test('the start of a box that ran is retried while the runtime cannot make it', () => {
  const { status, power, message } = failedStart(owed)(AWAY)
  expect({ status, power }).toEqual({ status: 'unknown', power: 'running' })
  expect(message).toContain('The node has not started its pod.')
})

test('the start of a box that ran is retried after an unexpected error, whose text stays in the log', () => {
  const { status, power, message } = failedStart(owed)(new Error('a secret of the host'))
  expect({ status, power }).toEqual({ status: 'unknown', power: 'running' })
  expect(message).not.toContain('secret')
})

test('the start of a box without its root is not retried', () => {
  const { status, power } = failedStart(owed)(new MissingRoot())
  expect({ status, power }).toEqual({ status: 'stopped', power: 'stopped' })
})

test('only a start of this process records that a box has run', () => {
  const hasRun = (wasStarted: boolean, outcome = READY, before: { hasRun?: boolean } = {}): boolean | undefined => {
    const record = { ...asked, observed: { ...asked.observed, ...before } }
    return settleRecord(record, outcome, { now: 2, bootId: 'boot', wasStarted }).observed.hasRun
  }
  expect([hasRun(true), hasRun(true, READY, { hasRun: false })]).toEqual([true, true])
  expect([hasRun(false), hasRun(false, READY, { hasRun: false })]).toEqual([undefined, false])
  expect(hasRun(false, READY, { hasRun: true })).toBe(true)
  expect(hasRun(false, STOPPED, { hasRun: false })).toBe(false)
})
