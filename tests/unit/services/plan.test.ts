import { describe, expect, test } from '@jest/globals'
import { backOffMs, planService, type ServiceStep, type ServiceWorld } from '../../../agent/core/services/plan.ts'
import { withEnd, withNewRun } from '../../../agent/core/services/runs.ts'
import type { RunEnd, ServiceRecord } from '../../../agent/ports/store/services.ts'
import { serviceRecord } from '../../helpers/services/service-records.ts'

const NOW = 1_000_000
const BOX_SINCE = 500_000
const START = { slot: 'active', port: null, boxSince: BOX_SINCE, now: NOW } as const

function ran(record: ServiceRecord, end: Partial<RunEnd> | null, since = BOX_SINCE): ServiceRecord {
  const started = withNewRun(record, { slot: 'active', port: null, isFresh: true, boxSince: since, now: NOW - 20_000 })
  const execId = started.active?.runs.at(-1)?.execId ?? ''
  if (end === null) return started
  const whole = { exitCode: 0, signal: null, outOfMemory: false, endedAt: NOW, logBytes: 7, ...end }
  return withEnd(started, execId, whole)
}

function world(more: Partial<ServiceWorld> = {}): ServiceWorld {
  return { boxSince: BOX_SINCE, isLive: false, unready: [], now: NOW, ...more }
}

describe('planService', () => {
  const fresh: ServiceStep = { kind: 'start', isFresh: true }
  const rest: ServiceStep = { kind: 'rest' }
  const rows: [title: string, record: ServiceRecord, world: ServiceWorld, step: ServiceStep][] = [
    ['a new service is started', serviceRecord(), world(), fresh],
    ['not without its box', serviceRecord(), world({ boxSince: null }), rest],
    ['not before what it needs', serviceRecord(), world({ unready: ['db'] }), { kind: 'blocked', by: ['db'] }],
    ['one that runs is left alone', ran(serviceRecord(), null), world({ isLive: true }), rest],
    [
      'one that is to stop is stopped',
      ran(serviceRecord({}, { desired: 'stopped' }), null),
      world({ isLive: true }),
      { kind: 'stop' },
    ],
    [
      'one whose box stops ends with it',
      ran(serviceRecord({}, { desired: 'stopped' }), null),
      world({ isLive: true, boxSince: null }),
      rest,
    ],
    ['one that was stopped rests', ran(serviceRecord({}, { desired: 'stopped' }), {}), world(), rest],
    ['one that ended waits', ran(serviceRecord(), {}), world(), { kind: 'wait', ms: 250 }],
    ['and is started again', ran(serviceRecord(), {}), world({ now: NOW + 250 }), { kind: 'start', isFresh: false }],
    [
      'on failure only if it failed',
      ran(serviceRecord({ restart: 'on-failure' }), {}),
      world({ now: NOW + 250 }),
      rest,
    ],
    [
      'on failure, where nobody knows its end',
      ran(serviceRecord({ restart: 'on-failure' }), { exitCode: null }),
      world(),
      { kind: 'wait', ms: 250 },
    ],
    ['never', ran(serviceRecord({ restart: 'never' }), { exitCode: 1 }), world({ now: NOW + 9e6 }), rest],
    [
      'never, but in a box that was started anew',
      ran(serviceRecord({ restart: 'never' }), {}),
      world({ boxSince: NOW }),
      fresh,
    ],
    ['never, but when it is asked for', { ...ran(serviceRecord({ restart: 'never' }), {}), asked: 2 }, world(), fresh],
  ]
  test.each(rows)('%s', (_title, record, seen, step) => {
    expect(planService(record, seen)).toEqual(step)
  })
})

describe('the runs of a service', () => {
  test('count starts by itself, and go on in one log', () => {
    let record = ran(serviceRecord(), { logBytes: 7 })
    record = withNewRun(record, { ...START, isFresh: false })
    expect(record.active).toMatchObject({ restarts: 1, runs: [{ logOffset: 0 }, { logOffset: 7, end: null }] })
    record = withNewRun(record, { ...START, isFresh: true })
    expect(record.active).toMatchObject({ restarts: 0, failures: 0 })
  })

  test('that end soon make the next wait longer, up to a minute', () => {
    let record = serviceRecord()
    const waits: number[] = []
    for (let round = 0; round < 10; round++) {
      record = withNewRun(record, { ...START, isFresh: round === 0 })
      const execId = record.active?.runs.at(-1)?.execId ?? ''
      record = withEnd(record, execId, {
        exitCode: 1,
        signal: null,
        outOfMemory: false,
        endedAt: NOW + 10,
        logBytes: 0,
      })
      waits.push(backOffMs(record.active?.failures ?? 0))
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  })

  test('that went on for a while begin to count anew', () => {
    let record = ran(serviceRecord(), { exitCode: 1 })
    for (let round = 0; round < 3; round++) {
      record = withNewRun(record, { ...START, isFresh: false })
      const execId = record.active?.runs.at(-1)?.execId ?? ''
      record = withEnd(record, execId, {
        exitCode: 1,
        signal: null,
        outOfMemory: false,
        endedAt: NOW + 10_000,
        logBytes: 0,
      })
    }
    expect(record.active).toMatchObject({ failures: 1, restarts: 3 })
  })

  test('are kept for the last four', () => {
    let record = serviceRecord()
    for (let round = 0; round < 6; round++) record = ran(record, {})
    expect(record.active?.runs.map(({ logOffset }) => logOffset)).toEqual([14, 21, 28, 35])
  })
})
