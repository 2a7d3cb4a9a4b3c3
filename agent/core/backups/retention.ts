import type { BackupRecord } from '../../ports/store/backups.ts'
import type { BackupSchedule } from '../../ports/store/volumes.ts'

/**
 * The backups that a schedule does not keep: of those it made the newest always stays, of the older ones at most `keepCount`,
 * and none for longer than `keepSeconds`. What people asked for stays.
 */
export function expiredBackups(
  records: readonly BackupRecord[],
  schedule: BackupSchedule | null,
  now: number,
): BackupRecord[] {
  if (schedule === null) return []
  const own = records.filter((each) => each.automatic && each.status === 'done' && each.deletedAt === null)
  const older = own.toSorted((a, b) => b.createdAt - a.createdAt).slice(1)
  const { keepCount, keepSeconds } = schedule
  return older.filter(
    ({ createdAt }, place) =>
      (keepCount !== null && place >= keepCount) || (keepSeconds !== null && now - createdAt > keepSeconds * 1000),
  )
}

/** Whether a volume's schedule wants a backup now: its last, whatever became of it, began an interval ago. */
export function isBackupDue(records: readonly BackupRecord[], schedule: BackupSchedule, now: number): boolean {
  const last = Math.max(0, ...records.filter((each) => each.automatic).map(({ createdAt }) => createdAt))
  return now - last >= schedule.intervalSeconds * 1000
}
