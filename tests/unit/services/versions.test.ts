import { describe, expect, test } from '@jest/globals'
import { backOffMs } from '../../../agent/core/services/plan.ts'
import { targetsOf } from '../../../agent/core/services/traffic.ts'
import { promoted, rolledBack, withEnd, withNewRun } from '../../../agent/core/services/versions.ts'
import {
  BOX_SINCE,
  candidate,
  deployed,
  NOW,
  ran,
  SWITCH,
  serviceRecord,
  switched,
} from '../../helpers/services/records.ts'

const START = { slot: 'active', port: null, boxSince: BOX_SINCE, now: NOW } as const

describe('a switch', () => {
  test('sends requests to the other version, and back', () => {
    const record = switched()
    expect(targetsOf(deployed())).toEqual({
      active: { boxId: 'box_a', port: 8080 },
      preview: { boxId: 'box_a', port: 49_152 },
    })
    expect(targetsOf(record)).toEqual({ active: { boxId: 'box_a', port: 49_152 }, preview: null })
    expect(record).toMatchObject({ generation: 2, history: [{ what: 'promoted', by: 'me', generation: 2 }] })
    const back = rolledBack(record, record.previous ?? candidate(), SWITCH)
    expect(targetsOf(back).active?.port).toBe(8080)
    expect(back).toMatchObject({ generation: 3, previous: { port: 49_152, since: NOW }, retired: [] })
  })

  test('continues the byte count of the log, and ends the version kept before', () => {
    const record = switched()
    expect(record.active?.runs[0]?.logOffset).toBe(5)
    const again = deployed(record, 49_153)
    const third = promoted(again, again.preview ?? candidate(), SWITCH)
    expect(third.active?.runs[0]?.logOffset).toBe(10)
    expect(third.retired).toMatchObject([{ port: 8080, drains: true }])
  })
})

describe('the runs of a service', () => {
  test('count automatic starts, and share one log', () => {
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

  test('that lasted for a while reset the count', () => {
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
