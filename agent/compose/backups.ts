import { type Backups, createBackups } from '../core/backups/backups.ts'
import { type BackupCatalog, createBackupCatalog } from '../core/backups/catalog.ts'
import type { BackupJobsDeps } from '../core/backups/jobs.ts'
import { type BackupSchedules, createBackupSchedules } from '../core/backups/schedules.ts'

/** Backups with what they are made of. */
export interface BackupParts {
  catalog: BackupCatalog
  backups: Backups
  schedules: BackupSchedules
  /** Goes on with what an agent before this one began. */
  recover(): Promise<void>
  /** Begins to make backups that are due; call the answer to end that. */
  startSchedules(): () => Promise<void>
}

/** Wires backups; they are needed before requests are taken. */
export function createBackupParts(given: Omit<BackupJobsDeps, 'catalog' | 'records'>): BackupParts {
  const { store, backupStore, clock, logger } = given
  const records = store.backups
  const catalog = createBackupCatalog(backupStore)
  const backups = createBackups({ ...given, records, catalog })
  const schedules = createBackupSchedules({ store, records, backups, clock, logger })
  return {
    catalog,
    backups,
    schedules,
    recover: () => backups.recover(),
    startSchedules: () => {
      const ending = new AbortController()
      const ended = schedules.run(ending.signal)
      return async () => {
        ending.abort()
        await ended
      }
    },
  }
}
