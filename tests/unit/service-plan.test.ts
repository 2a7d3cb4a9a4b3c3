import { describe, expect, test } from '@jest/globals'
import { backOffMs, planService, type ServiceStep, type ServiceWorld } from '../../agent/core/service-plan.ts'
import { withEnd, withNewRun } from '../../agent/core/service-runs.ts'
import type { RunEnd, ServiceRecord, ServiceSpec } from '../../agent/ports/service-store.ts'

const NOW = 1_000_000
const BOX_SINCE = 500_000

function given(spec: Partial<ServiceSpec> = {}, more: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    ...{
      boxId: 'box_a',
      name: 'web',
      version: 1,
      createdAt: 0,
      updatedAt: 0,
      generation: 1,
      desired: 'running',
      asked: 1,
    },
    spec: {
      ...{ command: ['a'], env: {}, cwd: null, user: null, port: null, needs: [], restart: 'always', readiness: null },
      ...{ stopSignal: 'SIGTERM', graceSeconds: 10, ...spec },
    },
    ...{ active: null, tags: {}, history: [] },
    ...more,
  }
}

function ran(record: ServiceRecord, end: Partial<RunEnd> | null, since = BOX_SINCE): ServiceRecord {
  const started = withNewRun(record, { isFresh: true, boxSince: since, now: NOW - 20_000 })
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
    ['a new service is started', given(), world(), fresh],
    ['not without its box', given(), world({ boxSince: null }), rest],
    ['not before what it needs', given(), world({ unready: ['db'] }), { kind: 'blocked', by: ['db'] }],
    ['one that runs is left alone', ran(given(), null), world({ isLive: true }), rest],
    [
      'one that is to stop is stopped',
      ran(given({}, { desired: 'stopped' }), null),
      world({ isLive: true }),
      { kind: 'stop' },
    ],
    [
      'one whose box stops ends with it',
      ran(given({}, { desired: 'stopped' }), null),
      world({ isLive: true, boxSince: null }),
      rest,
    ],
    ['one that was stopped rests', ran(given({}, { desired: 'stopped' }), {}), world(), rest],
    ['one that ended waits', ran(given(), {}), world(), { kind: 'wait', ms: 250 }],
    ['and is started again', ran(given(), {}), world({ now: NOW + 250 }), { kind: 'start', isFresh: false }],
    ['on failure only if it failed', ran(given({ restart: 'on-failure' }), {}), world({ now: NOW + 250 }), rest],
    [
      'on failure, where nobody knows its end',
      ran(given({ restart: 'on-failure' }), { exitCode: null }),
      world(),
      { kind: 'wait', ms: 250 },
    ],
    ['never', ran(given({ restart: 'never' }), { exitCode: 1 }), world({ now: NOW + 9e6 }), rest],
    [
      'never, but in a box that was started anew',
      ran(given({ restart: 'never' }), {}),
      world({ boxSince: NOW }),
      fresh,
    ],
    ['never, but when it is asked for', { ...ran(given({ restart: 'never' }), {}), asked: 2 }, world(), fresh],
  ]
  test.each(rows)('%s', (_title, record, seen, step) => {
    expect(planService(record, seen)).toEqual(step)
  })
})

describe('the runs of a service', () => {
  test('count starts by itself, and go on in one log', () => {
    let record = ran(given(), { logBytes: 7 })
    record = withNewRun(record, { isFresh: false, boxSince: BOX_SINCE, now: NOW })
    expect(record.active).toMatchObject({ restarts: 1, runs: [{ logOffset: 0 }, { logOffset: 7, end: null }] })
    record = withNewRun(record, { isFresh: true, boxSince: BOX_SINCE, now: NOW })
    expect(record.active).toMatchObject({ restarts: 0, failures: 0 })
  })

  test('that end soon make the next wait longer, up to a minute', () => {
    let record = given()
    const waits: number[] = []
    for (let round = 0; round < 10; round++) {
      record = withNewRun(record, { isFresh: round === 0, boxSince: BOX_SINCE, now: NOW })
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
    let record = ran(given(), { exitCode: 1 })
    for (let round = 0; round < 3; round++) {
      record = withNewRun(record, { isFresh: false, boxSince: BOX_SINCE, now: NOW })
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
    let record = given()
    for (let round = 0; round < 6; round++) record = ran(record, {})
    expect(record.active?.runs.map(({ logOffset }) => logOffset)).toEqual([14, 21, 28, 35])
  })
})
