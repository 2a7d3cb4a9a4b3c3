import { volume } from './volumes.ts'

const backup = {
  id: 'bak_01jd3m9q4n6p0r1s2t3v5w7x8y',
  project: 'demo',
  volume: 'db',
  snapshot: 'snp_01jd3m9q4n6p0r1s2t3v5w7x8y',
  location: 'projects/demo/volumes/vol_01jd3m7a1b2c3d4e5f6g7h8j9k/bak_01jd3m9q4n6p0r1s2t3v5w7x8y/',
  size_bytes: 1048576,
  size_gb: 10,
  incremental_of: null,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  created_at: '2026-11-20T08:20:00.000Z',
  status: 'done',
  error: null,
  automatic: false,
}
const backupPage = { backups: [backup], has_more: false, next_continuation_token: null }
const schedule = { interval_seconds: 86400, keep_count: 7, keep_seconds: null }

/** Examples of the operations on backups. */
export const BACKUP_EXAMPLES = {
  createBackup: { response: backup },
  listBackups: { response: backupPage },
  getBackup: { response: backup },
  deleteBackup: {},
  restoreBackup: { body: { as: 'db-2' }, response: { ...volume, name: 'db-2', from: `backup:${backup.id}` } },
  updateBackupSchedule: { body: schedule, response: { ...volume, backup_schedule: schedule } },
  listStoredBackups: { response: backupPage },
}
