import { describe, expect, test } from '@jest/globals'
import {
  type InstancesWorld,
  type ObservedRun,
  planInstances,
  type ServiceAction,
} from '../../../agent/core/services/plan.ts'
import { choosePort } from '../../../agent/core/services/ports.ts'
import { withEnd, withNewRun } from '../../../agent/core/services/runs.ts'
import { promoted, rolledBack, withoutPreview, withPreview } from '../../../agent/core/services/switch.ts'
import { targetOfBox, targetsOf } from '../../../agent/core/services/targets.ts'
import type {
  CandidateRecord,
  InstanceRecord,
  RunEnd,
  ServiceRecord,
  ServiceSpec,
} from '../../../agent/ports/store/services.ts'
import { serviceRecord } from '../../helpers/services/service-records.ts'

const NOW = 1_000_000
const BOX_SINCE = 500_000
const SPEC: ServiceSpec = serviceRecord({ port: 8080 }).spec
const END: RunEnd = { exitCode: 1, signal: null, outOfMemory: false, endedAt: NOW, logBytes: 7 }
const UP: ObservedRun = { isReady: true, isEnding: false, why: null, followedAt: NOW }
const HOW = { by: 'me', at: NOW, bytesOf: () => 5 }

function service(name = 'web'): ServiceRecord {
  const record = serviceRecord({ port: 8080 }, { name })
  return withNewRun(record, { slot: 'active', isFresh: true, boxSince: BOX_SINCE, port: 8080, now: NOW })
}

function candidate(): CandidateRecord {
  return { spec: SPEC, fork: null, port: null, runs: [], restarts: 0, failures: 0, readyMs: 60_000, failure: null }
}

function deployed(record = service(), port = 49_152): ServiceRecord {
  const how = { slot: 'preview', isFresh: true, boxSince: BOX_SINCE, port, now: NOW } as const
  return withNewRun(withPreview(record, candidate()), how)
}

function ended(record: ServiceRecord, instance: InstanceRecord | null, end: Partial<RunEnd> = {}): ServiceRecord {
  return withEnd(record, instance?.runs.at(-1)?.execId ?? '', { ...END, ...end })
}

function switched(): ServiceRecord {
  const record = deployed()
  return promoted(record, record.preview ?? candidate(), HOW)
}

/** `runs`: what runs, by version. */
function world(
  record: ServiceRecord,
  runs: Partial<Record<'active' | 'preview' | 'previous' | 'retired', ObservedRun>>,
) {
  const seen = (instance: InstanceRecord): ObservedRun | null => {
    if (record.retired.some((each) => each === instance)) return runs.retired ?? null
    for (const slot of ['active', 'preview', 'previous'] as const)
      if (record[slot] === instance) return runs[slot] ?? null
    return null
  }
  const isLive = runs.active !== undefined
  return { boxSince: BOX_SINCE, isLive, unready: [], now: NOW, runOf: seen, isDrained: false } satisfies InstancesWorld
}

describe('planInstances', () => {
  const failed = { ...deployed(), preview: { ...candidate(), failure: { why: 'x', output: '' } } }
  const unknown = { exitCode: null, endedAt: NOW - 250 }
  const lost = ended(deployed(), deployed().preview)
  const crashed = ((record) => ended(record, record.preview))(deployed())
  const unseen = ((record) => ended(record, record.preview, unknown))(deployed())
  const gone = withoutPreview(deployed())
  const rest: ServiceAction = { kind: 'rest', inMs: null }
  const late = { ...UP, isReady: false, why: 'Nothing listens.', followedAt: NOW - 60_000 }
  type Row = [string, ServiceRecord, Parameters<typeof world>[1], ServiceAction, Partial<InstancesWorld>?]
  const rows: Row[] = [
    [
      'a preview is started beside the active version',
      withPreview(service(), candidate()),
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
      'one whose end nobody saw is started again',
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
    ['and forgotten', gone, { active: UP }, { kind: 'bury', instance: gone.retired[0] ?? candidate() }],
    [
      'what was active before keeps its requests for its grace',
      switched(),
      { active: UP, previous: UP },
      { kind: 'rest', inMs: 10_000 },
    ],
    ['and no longer', switched(), { active: UP, previous: UP }, { kind: 'drain' }, { now: NOW + 10_000 }],
    ['they are cut off once', switched(), { active: UP, previous: UP }, rest, { now: NOW + 10_000, isDrained: true }],
  ]
  test.each(rows)('%s', (_title, record, runs, action, more = {}) => {
    expect(planInstances(record, { ...world(record, runs), ...more })).toEqual(action)
  })

  function endOf({ retired: [instance] }: ServiceRecord): ServiceAction {
    return { kind: 'end', instance: instance ?? candidate(), drains: false }
  }
})

describe('the port of a version', () => {
  test('is that of the service while nothing of the service has it', () => {
    expect(choosePort({ ...service(), active: null }, [service('other')], 'active')).toBe(8080)
    expect(choosePort(service(), [], 'active')).toBe(8080)
    expect(choosePort(withPreview(service(), candidate()), [], 'preview')).toBe(49_152)
  })

  test('is one that no service of the box has', () => {
    const record = withPreview(service(), candidate())
    expect(choosePort(record, [deployed(service('other'))], 'preview')).toBe(49_153)
    const elsewhere = { ...record, active: record.active && { ...record.active, port: 49_152 } }
    expect(choosePort(elsewhere, [], 'preview')).toBe(8080)
    expect(choosePort(elsewhere, [service('other')], 'preview')).toBe(49_153)
  })

  test('is kept from what was active before only while that runs', () => {
    const record = switched()
    expect(choosePort(record, [], 'active')).toBe(49_152)
    expect(choosePort(ended(record, record.previous), [], 'active')).toBe(8080)
  })
})

describe('a switch', () => {
  test('sends requests to the other version, and back', () => {
    const record = switched()
    expect(targetsOf(deployed())).toEqual({
      active: { boxId: 'box_a', port: 8080 },
      preview: { boxId: 'box_a', port: 49_152 },
    })
    expect(targetsOf(record)).toEqual({ active: { boxId: 'box_a', port: 49_152 }, preview: null })
    expect(record).toMatchObject({ generation: 2, history: [{ what: 'promoted', by: 'me', generation: 2 }] })
    const back = rolledBack(record, record.previous ?? candidate(), HOW)
    expect(targetsOf(back).active?.port).toBe(8080)
    expect(back).toMatchObject({ generation: 3, previous: { port: 49_152, since: NOW }, retired: [] })
  })

  test('takes along the box whose port the service has, and no other', () => {
    const records = [switched()]
    expect(targetOfBox({ id: 'box_a', port: 8080 }, records).port).toBe(49_152)
    expect(targetOfBox({ id: 'box_a', port: null }, records).port).toBe(49_152)
    expect(targetOfBox({ id: 'box_a', port: 9000 }, records)).toEqual({ boxId: 'box_a', port: 9000 })
    expect(targetOfBox({ id: 'box_a', port: 8080 }, [])).toEqual({ boxId: 'box_a', port: 8080 })
  })

  test('goes on in one count of bytes, and ends what was kept before', () => {
    const record = switched()
    expect(record.active?.runs[0]?.logOffset).toBe(5)
    const again = deployed(record, 49_153)
    const third = promoted(again, again.preview ?? candidate(), HOW)
    expect(third.active?.runs[0]?.logOffset).toBe(10)
    expect(third.retired).toMatchObject([{ port: 8080, drains: true }])
  })
})
