import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BackupParts, createBackupParts } from '../../../agent/compose/core.ts'
import { createBackupRestore } from '../../../agent/core/backups/restore.ts'
import { createJobs } from '../../../agent/core/operations/jobs.ts'
import { openFolderStore } from '../../../agent/drivers/backups/store-folder.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import type { BackupStore } from '../../../agent/ports/backups/store.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import { createBackupKeys } from '../../../shared/auth/keys.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { NO_STORAGE_BOUNDS } from '../access/storage-bounds.ts'
import { CALLER } from '../caller.ts'
import { createFakeTime } from '../imagined-time.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { openVolumeService, type VolumeService } from '../volumes/service.ts'

/** The core's backups with a real database, a real folder, and a simulated pool, boxes and clock. Volumes belong to project `demo`. */
export interface BackupService {
  volumes: VolumeService
  parts: BackupParts
  folder: string
  backupStore: BackupStore
  /** Advances the clock and wakes sleepers that are due. */
  advance(ms: number): void
  /** Returns the number of sleeps started so far. */
  sleeps(): number
  write(volume: string, content: string): Promise<void>
  read(volume: string): Promise<string | undefined>
  /** Creates a backup and waits until it finishes. */
  back(volume: string): Promise<BackupRecord>
  /** Restores to the new volume `as`, or in place if `as` is absent. Resolves with the error, or null on success. */
  restore(volume: string, id: string, as?: string): Promise<{ code: string; detail: string } | null>
  close(): Promise<void>
}

/** Opens the service. `change` can wrap the backup store. Tests can change the keys in place. */
export function openBackupService(
  change: (store: BackupStore) => BackupStore = (store) => store,
  { keys } = createBackupKeys(),
): BackupService {
  const folder = mkdtempSync(join(tmpdir(), 'boxyard-backup-service-'))
  const volumes = openVolumeService(() => 0)
  const { clock, advance, sleeps } = createFakeTime()
  const { store, filesystem, reconciler, runtime, admission, defaults } = volumes
  const backupStore = change(openFolderStore(folder))
  const jobs = createJobs({ store, clock, logger: silentLogger, meter: silentMeter })
  const newBackupId = (nowMs: number): string => newId('bak', nowMs)
  const backupKeys = () => keys
  const logger = silentLogger
  const shared = { store, filesystem, reconciler, jobs, clock, logger, backupStore, newBackupId, backupKeys }
  const parts = createBackupParts({ ...shared, acceptsUnverified: false })
  const directory = createLocalDirectory()
  const restoring = {
    ...shared,
    directory,
    runtime,
    admission,
    defaults,
    bounds: NO_STORAGE_BOUNDS,
    catalog: parts.catalog,
  }
  const restores = createBackupRestore(restoring)
  const subvolumeOf = async (name: string) => {
    const record = await store.volumes.get('demo', name)
    return record ? volumes.world.pool.get(record.subvolume) : undefined
  }
  return {
    ...{ volumes, parts, folder, backupStore, advance, sleeps },
    write: async (volume, content) => {
      const subvolume = await subvolumeOf(volume)
      if (subvolume) subvolume.content = content
    },
    read: async (volume) => (await subvolumeOf(volume))?.content,
    back: async (name) => {
      const options = { caller: CALLER, idempotencyKey: null, automatic: false }
      const { id, operation } = await parts.backups.create({ project: 'demo', name }, options)
      if (operation !== null) await jobs.wait(operation, 20_000)
      return (await store.backups.get(id)) as BackupRecord
    },
    restore: async (name, id, as) => {
      const ref = { project: 'demo', name }
      try {
        const known = await parts.backups.get(ref, id)
        const request = { project: 'demo', sizeGb: null, tags: {}, idempotencyKey: null }
        const operation =
          as === undefined
            ? await restores.restoreOver(CALLER, known, { ref, waitMs: 0, ifMatch: null })
            : await restores.restoreAsNew(CALLER, known, { ...request, name: as })
        const state = await jobs.wait(operation, 20_000)
        const error = state?.outcome.error
        return error ? { code: error.code, detail: error.detail } : null
      } catch (error) {
        const { code, message } = error as ServiceError
        return { code, detail: message }
      }
    },
    close: async () => {
      await jobs.close()
      await volumes.close()
      await backupStore.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
