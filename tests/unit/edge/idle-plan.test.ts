import { describe, expect, test } from '@jest/globals'
import { type IdleFacts, planIdle } from '../../../agent/core/edge/idle-stop.ts'

const NOW = 1_000_000

describe('planIdle', () => {
  const rows: [title: string, facts: Partial<IdleFacts>, waitMs: number | 'stop'][] = [
    ['a box used a while ago is waited for', { usedAt: NOW - 40_000 }, 20_000],
    ['a box used just now is waited for in full', { usedAt: NOW }, 60_000],
    ['a millisecond early is too early', { usedAt: NOW - 59_999 }, 1],
    ['a box stops on time', { usedAt: NOW - 60_000 }, 'stop'],
    ['a box stops late', { usedAt: 0 }, 'stop'],
    ['a box in use never is due, however long ago its use began', { usedAt: 0, isInUse: true }, 60_000],
    ['a lease keeps it awake, and counts as use', { usedAt: 0, leaseUntil: NOW + 5_000 }, 65_000],
    ['a lease that ended counts from its end', { usedAt: 0, leaseUntil: NOW - 10_000 }, 50_000],
    ['a lease that ended long ago counts no more', { usedAt: NOW - 60_000, leaseUntil: NOW - 70_000 }, 'stop'],
    ['a use after the lease counts', { usedAt: NOW - 10_000, leaseUntil: NOW - 70_000 }, 50_000],
  ]
  test.each(rows)('%s', (_title, facts, expected) => {
    const plan = planIdle({ idleStopMs: 60_000, usedAt: NOW, isInUse: false, leaseUntil: null, ...facts }, NOW)
    expect(plan).toEqual(expected === 'stop' ? { kind: 'stop' } : { kind: 'wait', ms: expected })
  })
})
