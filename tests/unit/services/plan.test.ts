import { describe, expect, test } from '@jest/globals'
import {
  type InstancesWorld,
  type ObservedRun,
  planInstances,
  planService,
  type ServiceAction,
  type ServiceStep,
  type ServiceWorld,
} from '../../../agent/core/services/plan.ts'
import { withoutPreview, withPreview } from '../../../agent/core/services/versions.ts'
import type { InstanceRecord, ServiceRecord } from '../../../agent/ports/store/services.ts'
import {
  BOX_SINCE,
  candidate,
  deployed,
  ended,
  NOW,
  ran,
  runningService,
  serviceRecord,
  switched,
} from '../../helpers/services/records.ts'

const UP: ObservedRun = { isReady: true, isEnding: false, why: null, monitoredSince: NOW }

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
      'on failure, if its end is unknown',
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

/** Returns the observed state with these `runs`, by version. */
function versionsWorld(
  record: ServiceRecord,
  runs: Partial<Record<'active' | 'preview' | 'previous' | 'retired', ObservedRun>>,
) {
  const runOf = (instance: InstanceRecord): ObservedRun | null => {
    if (record.retired.some((each) => each === instance)) return runs.retired ?? null
    for (const slot of ['active', 'preview', 'previous'] as const)
      if (record[slot] === instance) return runs[slot] ?? null
    return null
  }
  const isLive = runs.active !== undefined
  return {
    boxSince: BOX_SINCE,
    isLive,
    unready: [],
    now: NOW,
    runOf,
    isDrained: false,
    routingSince: 0,
  } satisfies InstancesWorld
}

describe('planInstances', () => {
  const failed = { ...deployed(), preview: { ...candidate(), failure: { why: 'x', output: '' } } }
  const unknown = { exitCode: null, endedAt: NOW - 250 }
  const lost = ended(deployed(), deployed().preview)
  const crashed = ((record) => ended(record, record.preview))(deployed())
  const unseen = ((record) => ended(record, record.preview, unknown))(deployed())
  const gone = withoutPreview(deployed())
  const rest: ServiceAction = { kind: 'rest', inMs: null }
  const late = { ...UP, isReady: false, why: 'Nothing listens.', monitoredSince: NOW - 60_000 }
  type Row = [string, ServiceRecord, Parameters<typeof versionsWorld>[1], ServiceAction, Partial<InstancesWorld>?]
  const rows: Row[] = [
    [
      'a preview is started beside the active version',
      withPreview(runningService(), candidate()),
      { active: UP },
      { kind: 'start', slot: 'preview', isFresh: true },
    ],
    ['one that is ready is left alone', deployed(), { active: UP, preview: UP }, rest],
    [
      'one that is not ready yet has its time',
      deployed(),
      { active: UP, preview: { ...UP, isReady: false } },
      { kind: 'rest', inMs: 60_000 },
    ],
    [
      'and then has failed',
      deployed(),
      { active: UP, preview: late },
      { kind: 'fail', slot: 'preview', why: 'It was not ready within 60 s. Nothing listens.' },
    ],
    [
      'one that ended has failed',
      crashed,
      { active: UP },
      { kind: 'fail', slot: 'preview', why: 'It ended with exit code 1.' },
    ],
    ['an end that is none of its own is none', lost, { active: UP, preview: UP }, rest],
    [
      'one whose end was not seen is started again',
      unseen,
      { active: UP },
      { kind: 'start', slot: 'preview', isFresh: false },
    ],
    [
      'and where its box was started anew',
      crashed,
      { active: UP },
      { kind: 'start', slot: 'preview', isFresh: true },
      { boxSince: NOW },
    ],
    ['not without its box', crashed, {}, rest, { boxSince: null }],
    [
      'one that failed is ended',
      failed,
      { active: UP, preview: UP },
      { kind: 'end', instance: failed.preview, drains: false },
    ],
    ['once', failed, { active: UP, preview: { ...UP, isEnding: true } }, rest],
    ['what was discarded is ended', gone, { active: UP, retired: UP }, endOf(gone)],
    ['and forgotten', gone, { active: UP }, { kind: 'forget', instance: gone.retired[0] ?? candidate() }],
    [
      'what was active before keeps its requests for its grace',
      switched(),
      { active: UP, previous: UP },
      { kind: 'rest', inMs: 10_000 },
    ],
    ['and no longer', switched(), { active: UP, previous: UP }, { kind: 'cut-off' }, { now: NOW + 10_000 }],
    [
      'and for its grace after a restart of the agent, in which the edge may have switched',
      switched(),
      { active: UP, previous: UP },
      { kind: 'rest', inMs: 9_000 },
      { now: NOW + 11_000, routingSince: NOW + 10_000 },
    ],
    ['they are cut off once', switched(), { active: UP, previous: UP }, rest, { now: NOW + 10_000, isDrained: true }],
  ]
  test.each(rows)('%s', (_title, record, runs, action, more = {}) => {
    expect(planInstances(record, { ...versionsWorld(record, runs), ...more })).toEqual(action)
  })

  function endOf({ retired: [instance] }: ServiceRecord): ServiceAction {
    return { kind: 'end', instance: instance ?? candidate(), drains: false }
  }
})
