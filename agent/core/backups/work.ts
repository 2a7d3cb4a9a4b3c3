import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { Store } from '../../ports/store/store.ts'
import type { JobRun, Jobs } from '../operations/jobs.ts'
import { type BackupRemoval, type BackupRemovalDeps, createBackupRemoval } from './removal.ts'
import { expiredBackups } from './retention.ts'
import { runBackup } from './run.ts'

export interface BackupWorkDeps extends BackupRemovalDeps {
  store: Store
  jobs: Jobs
}

/** Backups under way, as jobs; after each, what is not kept any more goes. */
export interface BackupWork {
  removal: BackupRemoval
  /** Begins to make a backup; its record with the name of the job. */
  begin(record: BackupRecord, requestId: string): Promise<BackupRecord>
  /** Goes on with one that an agent before this one began. */
  takeUp(record: BackupRecord): Promise<void>
  /** Ends one that is under way. */
  end(id: string): void
}

/** At most two at once; the others wait. */
export function createBackupWork(deps: BackupWorkDeps): BackupWork {
  const { store, records, jobs, clock, logger } = deps
  const removal = createBackupRemoval(deps)
  const limiter = createLimiter(BACKUPS_AT_ONCE)
  const ends = new Map<string, AbortController>()

  const retain = async (volumeId: string): Promise<void> => {
    const volume = (await store.volumes.all()).find(({ id }) => id === volumeId)
    const expired = expiredBackups(await records.of(volumeId), volume?.backupSchedule ?? null, clock.now())
    for (const each of expired) await removal.remove(each)
  }
  const tidyUp = async ({ volumeId, project }: BackupRecord): Promise<void> => {
    await retain(volumeId).catch((error: unknown) => logger.error('old backups stay', { volume: volumeId, error }))
    await removal.sweep(project)
  }
  const make = async (record: BackupRecord, job: JobRun): Promise<void> => {
    const end = new AbortController()
    ends.set(record.id, end)
    const run = {
      signal: AbortSignal.any([job.signal, end.signal]),
      isCutOff: () => job.signal.aborted,
      progress: (share: number | null) => job.progress(share),
    }
    try {
      await limiter.run(() => runBackup(deps, record.id, run))
    } finally {
      ends.delete(record.id)
      if (!job.signal.aborted) void tidyUp(record)
    }
  }
  const begin: BackupWork['begin'] = async (record, requestId) => {
    const { project, volume, id } = record
    const resource = `/v1/projects/${project}/data/${volume}/backups/${id}`
    const isNamed = Promise.withResolvers<void>()
    try {
      const start = (job: JobRun): Promise<void> => isNamed.promise.then(() => make(record, job))
      const operation = await jobs.start({ kind: 'backup.create', project, resource, requestId }, start)
      const named = { ...record, operation }
      await records.write([named])
      return named
    } finally {
      // Only now: the work reads the record, and writes all of it.
      isNamed.resolve()
    }
  }
  return {
    removal,
    begin,
    takeUp: async (record) => {
      const { operation } = record
      const isTaken = operation !== null && (await jobs.takeUp(operation, (job) => make(record, job)))
      if (!isTaken) await begin(record, record.id)
    },
    end: (id) => {
      ends.get(id)?.abort(new ServiceError('backup_not_found', 'The backup was deleted while it was made.'))
    },
  }
}

export const BACKUPS_AT_ONCE = 2
