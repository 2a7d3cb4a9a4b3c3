import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BackupScheduleBody } from '../../../shared/schemas/backups.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BackupRecords } from '../../ports/store/backups.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { editRecord } from '../common/edit-record.ts'
import { findVolume, type VolumeRef } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { Backups } from './backups.ts'
import { isBackupDue } from './retention.ts'

export interface BackupSchedulesDeps {
  store: Store
  records: BackupRecords
  backups: Backups
  clock: Clock
  logger: Logger
}

/** Starts backups of volumes at the intervals of their schedules. */
export interface BackupSchedules {
  /** @throws ServiceError `volume_not_found`, `precondition_failed` */
  set(ref: VolumeRef, body: BackupScheduleBody, ifMatch: string | null): Promise<VolumeRecord>
  /** Starts the backups that are due, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Checks every 5 s, and when a schedule changes, which backups are due. Retries a failed one after its interval. */
export function createBackupSchedules(deps: BackupSchedulesDeps): BackupSchedules {
  const { store, clock } = deps
  const lastErrors: LastErrors = new Map()
  let wake = (): void => undefined
  return {
    set: async (ref, body, ifMatch) => {
      const { interval_seconds: intervalSeconds, keep_count, keep_seconds } = body
      const backupSchedule =
        intervalSeconds === null
          ? null
          : { intervalSeconds, keepCount: keep_count ?? null, keepSeconds: keep_seconds ?? null }
      const changed = await editRecord(clock, {
        read: () => findVolume(store, ref),
        edit: (record) => {
          checkIfMatch(ifMatch, record.version)
          return { ...record, backupSchedule }
        },
        write: (next) => store.volumes.replace(next),
      })
      wake()
      return changed
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const pause = new AbortController()
        wake = () => pause.abort()
        await beginDue(deps, lastErrors)
        await clock.sleep(CHECK_MS, AbortSignal.any([signal, pause.signal]))
      }
    },
  }
}

/** The last error by volume id, so that retries every few seconds log a repeated error once. */
type LastErrors = Map<string, string>

async function beginDue(
  { store, records, backups, clock, logger }: BackupSchedulesDeps,
  lastErrors: LastErrors,
): Promise<void> {
  const volumes = await store.volumes.all().catch((): VolumeRecord[] => [])
  const known = new Set(volumes.map(({ id }) => id))
  for (const id of lastErrors.keys()) if (!known.has(id)) lastErrors.delete(id)
  for (const volume of volumes) {
    if (volume.backupSchedule === null) continue
    try {
      if (!isBackupDue(await records.of(volume.id), volume.backupSchedule, clock.now())) continue
      const caller = { tokenId: volume.createdBy.token, requestId: newId('req', clock.now()) }
      await backups.create(volume, { caller, idempotencyKey: null, automatic: true })
      lastErrors.delete(volume.id)
    } catch (error) {
      if (lastErrors.get(volume.id) !== String(error))
        logger.warn('failed to start a scheduled backup', { volume: volume.id, error })
      lastErrors.set(volume.id, String(error))
    }
  }
}

const CHECK_MS = 5_000
