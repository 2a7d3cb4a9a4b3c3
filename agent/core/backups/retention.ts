import type { BackupRecord } from '../../ports/store/backups.ts'
import type { BackupSchedule } from '../../ports/store/volumes.ts'

/**
 * Selects the backups to delete under a schedule. It keeps the newest automatic one. It keeps at most `keepCount` older automatic ones,
 * none longer than `keepSeconds`. Never selects backups that a client asked for.
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
    ({ createdAt }, index) =>
      (keepCount !== null && index >= keepCount) || (keepSeconds !== null && now - createdAt > keepSeconds * 1000),
  )
}

/** Returns true if a backup is due, because an interval has passed since the last automatic one began. Failed ones count as well. */
export function isBackupDue(records: readonly BackupRecord[], schedule: BackupSchedule, now: number): boolean {
  const last = Math.max(0, ...records.filter((each) => each.automatic).map(({ createdAt }) => createdAt))
  return now - last >= schedule.intervalSeconds * 1000
}
