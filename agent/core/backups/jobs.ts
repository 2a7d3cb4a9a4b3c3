import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { Store } from '../../ports/store/store.ts'
import type { JobRun, Jobs } from '../operations/jobs.ts'
import { type BackupRemoval, type BackupRemovalDeps, createBackupRemoval } from './removal.ts'
import { expiredBackups } from './retention.ts'
import { runBackup } from './run.ts'

export interface BackupJobsDeps extends BackupRemovalDeps {
  store: Store
  jobs: Jobs
  /** Makes the id of a backup. In a fleet the id contains the cell, since it outlives the name of its volume. */
  newBackupId(nowMs: number): string
}

/** Runs backups as jobs. After each it removes the backups that the schedule no longer keeps. */
export interface BackupJobs {
  removal: BackupRemoval
  /** Starts the job of a backup. Returns its record with the operation's id. */
  start(record: BackupRecord, requestId: string): Promise<BackupRecord>
  /** Resumes one that an earlier agent began. */
  resume(record: BackupRecord): Promise<void>
  /** Aborts a running one. */
  abort(id: string): void
}

/** Runs at most two at once. The others wait, and projects take turns. */
export function createBackupJobs(deps: BackupJobsDeps): BackupJobs {
  const { store, records, jobs, clock, logger } = deps
  const removal = createBackupRemoval(deps)
  const limiter = createLimiter(BACKUPS_AT_ONCE)
  const aborts = new Map<string, AbortController>()

  const retain = async (volumeId: string): Promise<void> => {
    const volume = (await store.volumes.all()).find(({ id }) => id === volumeId)
    const expired = expiredBackups(await records.of(volumeId), volume?.backupSchedule ?? null, clock.now())
    for (const each of expired) await removal.remove(each)
  }
  const tidyUp = async ({ volumeId, project }: BackupRecord): Promise<void> => {
    await retain(volumeId).catch((error: unknown) =>
      logger.error('failed to delete old backups', { volume: volumeId, error }),
    )
    await removal.sweep(project)
  }
  const make = async (record: BackupRecord, job: JobRun): Promise<void> => {
    const abort = new AbortController()
    aborts.set(record.id, abort)
    const run = {
      signal: AbortSignal.any([job.signal, abort.signal]),
      isCutOff: () => job.signal.aborted,
      progress: (share: number | null) => job.progress(share),
    }
    try {
      await limiter.run(() => runBackup(deps, record.id, run), record.project)
    } finally {
      aborts.delete(record.id)
      if (!job.signal.aborted) void tidyUp(record)
    }
  }
  const start: BackupJobs['start'] = async (record, requestId) => {
    const { project, volume, id } = record
    const resource = `/v1/projects/${project}/data/${volume}/backups/${id}`
    const isNamed = Promise.withResolvers<void>()
    try {
      const run = (job: JobRun): Promise<void> => isNamed.promise.then(() => make(record, job))
      const operation = await jobs.start({ kind: 'backup.create', project, resource, requestId }, run)
      const named = { ...record, operation }
      await records.write([named])
      return named
    } finally {
      // The job rewrites the whole record, so it must not start before the operation's id is in it.
      isNamed.resolve()
    }
  }
  return {
    removal,
    start,
    resume: async (record) => {
      const { operation } = record
      const isResumed = operation !== null && (await jobs.resume(operation, (job) => make(record, job)))
      if (!isResumed) await start(record, record.id)
    },
    abort: (id) => {
      aborts.get(id)?.abort(new ServiceError('backup_not_found', 'The backup was deleted during its creation.'))
    },
  }
}

export const BACKUPS_AT_ONCE = 2
