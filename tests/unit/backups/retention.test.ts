import { expect, test } from '@jest/globals'
import { expiredBackups, isBackupDue } from '../../../agent/core/backups/retention.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'

const NOW = 1_000_000_000
const SECOND = 1000

/** Returns a scheduled backup that finished `age` seconds ago. */
function record(age: number, changes: Partial<BackupRecord> = {}): BackupRecord {
  const known = { id: `bak_${age}`, createdAt: NOW - age * SECOND, automatic: true, status: 'done', deletedAt: null }
  return { ...(known as BackupRecord), ...changes }
}

function expired(records: BackupRecord[], keepCount: number | null, keepSeconds: number | null): string[] {
  const schedule = { intervalSeconds: 60, keepCount, keepSeconds }
  return expiredBackups(records, schedule, NOW).map(({ id }) => id)
}

const hourly = [4, 3, 2, 1, 0].map((hours) => record(hours * 3600))

test('without a schedule, or one without bounds, nothing expires', () => {
  expect(expiredBackups(hourly, null, NOW)).toEqual([])
  expect(expired(hourly, null, null)).toEqual([])
})

test('by count that many stay beside the newest', () => {
  expect(expired(hourly, 2, null)).toEqual(['bak_10800', 'bak_14400'])
  expect(expired(hourly, 1, null)).toHaveLength(3)
  expect(expired(hourly, 4, null)).toEqual([])
  expect(expired([], 1, null)).toEqual([])
})

test('by age younger ones stay, and the newest at any age', () => {
  expect(expired(hourly, null, 7200)).toEqual(['bak_10800', 'bak_14400'])
  expect(expired(hourly, null, 7199)).toHaveLength(3)
  expect(expired([record(999_999)], null, 1)).toEqual([])
  expect(expired(hourly, 1, 3600)).toHaveLength(3)
  expect(expired(hourly, 3, 3600)).toHaveLength(3)
})

test('manual, failed, running and deleted backups neither expire nor count', () => {
  const others = [
    record(99_999, { automatic: false }),
    record(3000, { status: 'failed' }),
    record(10, { status: 'running' }),
    record(2000, { deletedAt: NOW - 1 }),
  ]
  expect(expired([...others, ...hourly], 2, null)).toEqual(['bak_10800', 'bak_14400'])
  expect(expired(others, 1, 1)).toEqual([])
})

test('a backup is due one interval after the start of the last scheduled one, failed or not', () => {
  const schedule = { intervalSeconds: 3600, keepCount: null, keepSeconds: null }
  expect(isBackupDue([], schedule, NOW)).toBe(true)
  expect(isBackupDue([record(1, { automatic: false })], schedule, NOW)).toBe(true)
  expect(isBackupDue([record(3599)], schedule, NOW)).toBe(false)
  expect(isBackupDue([record(3600)], schedule, NOW)).toBe(true)
  expect(isBackupDue([record(5000), record(10, { status: 'failed' })], schedule, NOW)).toBe(false)
  expect(isBackupDue([record(5000), record(10, { deletedAt: NOW })], schedule, NOW)).toBe(false)
})
