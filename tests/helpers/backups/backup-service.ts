import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BackupParts, createBackupParts } from '../../../agent/compose/core.ts'
import { createBackupRestore } from '../../../agent/core/backups/restore.ts'
import { createJobs } from '../../../agent/core/operations/jobs.ts'
import { openFolderStore } from '../../../agent/drivers/backups/store-folder.ts'
import type { BackupStore } from '../../../agent/ports/backups/store.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { CALLER } from '../caller.ts'
import { imagineTime } from '../imagined-time.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { openVolumeService, type VolumeService } from '../volumes/volume-service.ts'

/** The core of backups over a real database and a real folder; pool, boxes and time are imagined. Volumes are of project `demo`. */
export interface BackupService {
  volumes: VolumeService
  parts: BackupParts
  folder: string
  backupStore: BackupStore
  /** Lets time pass; who sleeps until then wakes. */
  advance(ms: number): void
  /** How often somebody has gone to sleep. */
  sleeps(): number
  write(volume: string, content: string): Promise<void>
  read(volume: string): Promise<string | undefined>
  /** A backup that is done. */
  back(volume: string): Promise<BackupRecord>
  /** The code of the failure; null for a success. `as` is the name of the new volume; without, it is restored over the old. */
  restore(volume: string, id: string, as?: string): Promise<{ code: string; detail: string } | null>
  close(): Promise<void>
}

/** Opens one; `change` may put something before the place of backups. */
export function openBackupService(change: (store: BackupStore) => BackupStore = (store) => store): BackupService {
  const folder = mkdtempSync(join(tmpdir(), 'boxyard-backup-service-'))
  const volumes = openVolumeService(() => 0)
  const { clock, advance, sleeps } = imagineTime()
  const { store, filesystem, reconciler, runtime, admission, defaults } = volumes
  const backupStore = change(openFolderStore(folder))
  const jobs = createJobs({ store, clock, logger: silentLogger, meter: silentMeter })
  const shared = { store, filesystem, reconciler, jobs, clock, logger: silentLogger, backupStore }
  const parts = createBackupParts(shared)
  const restoring = { ...shared, runtime, admission, defaults, catalog: parts.catalog }
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
      const wish = { caller: CALLER, idempotencyKey: null, automatic: false }
      const { id, operation } = await parts.backups.create({ project: 'demo', name }, wish)
      if (operation !== null) await jobs.wait(operation, 20_000)
      return (await store.backups.get(id)) as BackupRecord
    },
    restore: async (name, id, as) => {
      const ref = { project: 'demo', name }
      try {
        const known = await parts.backups.get(ref, id)
        const wish = { project: 'demo', sizeGb: null, tags: {}, idempotencyKey: null }
        const operation =
          as === undefined
            ? await restores.restoreOver(CALLER, known, { ref, waitMs: 0, ifMatch: null })
            : await restores.restoreAsNew(CALLER, known, { ...wish, name: as })
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
