import { describe, expect, test } from '@jest/globals'
import { type BoxWorld, planBox } from '../../../agent/core/reconcile/plan.ts'
import type { BoxObserved, BoxRecord } from '../../../agent/ports/store/boxes.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'

const BOOT = 'boot-now'
const WISH = { snapshot: 'v0', root: 'sub_new', data: [] }

function given(power: 'running' | 'stopped', generation: number, observed: Partial<BoxObserved>): BoxRecord {
  const record = boxRecord({ desired: { power, generation } })
  return { ...record, observed: { ...record.observed, ...observed } }
}

function world(isRunning: boolean, exit: BoxWorld['exit'] = null, wasStarted = false): BoxWorld {
  return { isRunning, wasStarted, bootId: BOOT, exit }
}

test('the message of a stop is that of its own request, not of an older one', () => {
  const stopping = { status: 'pending', reason: 'stopping', message: 'Stopped after 9 s without use.' } as const
  const outcomeOf = (record: BoxRecord) => {
    const step = planBox(record, world(false))
    return step.kind === 'reap' ? step.outcome.message : step
  }
  expect(outcomeOf(given('stopped', 2, stopping))).toBe(stopping.message)
  expect(outcomeOf(given('stopped', 2, { ...stopping, status: 'unknown' }))).toBeNull()
})

test('a box that the agent ended tells why', () => {
  const ran = given('running', 1, { status: 'running', reason: 'ready', generation: 1, bootId: BOOT })
  const step = planBox(ran, world(false, { outOfMemory: false, isLost: false, why: 'It held too much.' }))
  expect(step).toMatchObject({ kind: 'reap', outcome: { reason: 'exited', message: 'It held too much.' } })
})

describe('planBox', () => {
  const ran = { status: 'running', reason: 'ready', generation: 1, bootId: BOOT } as const
  const rows: [title: string, record: BoxRecord, world: BoxWorld, step: string, reason: string | null][] = [
    ['a new box is started', given('running', 1, {}), world(false), 'start', null],
    ['a start cut off before it was recorded is recorded', given('running', 1, {}), world(true), 'settle', 'ready'],
    ['that of a new box is made again', given('running', 1, { hasRun: false }), world(true), 'start', null],
    [
      'also where it is unknown',
      given('running', 1, { hasRun: false, status: 'unknown', generation: 1 }),
      world(true),
      'start',
      null,
    ],
    [
      'but not a start of this process',
      given('running', 1, { hasRun: false }),
      world(true, null, true),
      'settle',
      'ready',
    ],
    [
      'a box that has run is recorded as running',
      given('running', 1, { hasRun: true }),
      world(true),
      'settle',
      'ready',
    ],
    ['a running box is left alone', given('running', 1, ran), world(true), 'none', null],
    ['a box whose init ended is reaped', given('running', 1, ran), world(false), 'reap', 'exited'],
    [
      'an init killed for memory is told apart',
      given('running', 1, ran),
      world(false, { outOfMemory: true, isLost: false }),
      'reap',
      'out_of_memory',
    ],
    [
      'a box that was taken away comes back',
      given('running', 1, ran),
      world(false, { outOfMemory: false, isLost: true }),
      'start',
      null,
    ],
    [
      'a box that ran before a reboot is started again',
      given('running', 1, { ...ran, bootId: 'boot-before' }),
      world(false),
      'start',
      null,
    ],
    ['a resumed box is started', given('running', 2, { ...ran, status: 'stopped' }), world(false), 'start', null],
    ['a box to be stopped is stopped', given('stopped', 2, ran), world(true), 'stop', null],
    [
      'a stop cut off before it was recorded is recorded',
      given('stopped', 2, ran),
      world(false),
      'reap',
      'stopped_by_request',
    ],
    [
      'a running box that is to be restored is ended first',
      { ...given('running', 2, { ...ran, status: 'pending' }), restore: WISH },
      world(true),
      'halt',
      null,
    ],
    [
      'a box that is to be restored, and does not run, is',
      { ...given('running', 2, { ...ran, status: 'pending' }), restore: WISH },
      world(false),
      'restore',
      null,
    ],
    [
      'also one that is to stay stopped',
      { ...given('stopped', 2, { status: 'pending' }), restore: WISH },
      world(false),
      'restore',
      null,
    ],
    [
      'a stopped box is left alone',
      given('stopped', 2, { status: 'stopped', generation: 2 }),
      world(false),
      'none',
      null,
    ],
    [
      'a failed start is left alone',
      given('stopped', 1, { status: 'stopped', reason: 'failed', generation: 1 }),
      world(false),
      'none',
      null,
    ],
    [
      'a box that comes up after its start was given up is stopped',
      given('stopped', 1, { status: 'stopped', reason: 'failed', generation: 1 }),
      world(true),
      'stop',
      null,
    ],
    [
      'an unknown box that is seen to run is running',
      given('running', 1, { status: 'unknown', generation: 1 }),
      world(true),
      'settle',
      'ready',
    ],
  ]

  test.each(rows)('%s', (_title, record, seen, kind, reason) => {
    const step = planBox(record, seen)
    expect(step.kind).toBe(kind)
    expect('outcome' in step ? step.outcome.reason : null).toBe(reason)
  })

  test('a stop waits for the grace period of the box', () => {
    expect(planBox({ ...given('stopped', 2, ran), gracePeriodSeconds: 7 }, world(true))).toEqual({
      kind: 'stop',
      graceMs: 7000,
    })
  })
})
