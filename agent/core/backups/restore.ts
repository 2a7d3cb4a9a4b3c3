import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { CreateVolumeBody } from '../../../shared/schemas/volumes.ts'
import type { BackupStore } from '../../ports/backups/store.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import type { JobRun, Jobs } from '../operations/jobs.ts'
import { type CreateVolumeDeps, createVolume, nameTaken } from '../volumes/create.ts'
import { backupNotFound, type KnownBackup } from './backups.ts'
import { type BackupCatalog, type ChainLink, isListed, type StoredBackup } from './catalog.ts'
import { readChain } from './reading.ts'

export interface BackupRestoreDeps extends CreateVolumeDeps {
  backupStore: BackupStore
  catalog: BackupCatalog
  jobs: Jobs
}

/** A new volume that is to have what a backup holds. */
export interface BackupRestoreOptions {
  project: string
  name: string
  /** Null: the size of the volume that was backed up. */
  sizeGb: number | null
  tags: Record<string, string>
  idempotencyKey: string | null
}

/** Restores from what the store has, whoever put it there. */
export interface BackupRestore {
  /** A backup of the project by its id, as the store has it. @throws ServiceError `backup_not_found` */
  find(project: string, id: string): Promise<{ stored: StoredBackup }>
  /**
   * Begins to make a new volume of a backup; the id of the operation. No part of it, or of those it builds on, is taken in before
   * it was read and found to be as it was stored.
   * @throws ServiceError `name_taken`, `volume_too_small`, `backup_damaged` if a manifest is not what it was
   */
  begin(caller: Caller, known: KnownBackup, wish: BackupRestoreOptions): Promise<string>
}

/** Restores as jobs; what is cut off is destroyed by the next start of the service. */
export function createBackupRestore(deps: BackupRestoreDeps): BackupRestore {
  const { store, catalog, jobs } = deps
  return {
    find: async (project, id) => {
      const stored = await catalog.find(project, id)
      if (!stored || !isListed(stored)) throw backupNotFound(id)
      return { stored }
    },
    begin: async (caller, known, wish) => {
      const { project, name } = wish
      if (await store.volumes.get(project, name)) throw nameTaken(wish)
      const backup = 'record' in known ? known.record : known.stored
      const chain = await catalog.chain(backup)
      checkSize(chain, wish.sizeGb)
      const resource = `/v1/projects/${project}/data/${name}`
      const work = (run: JobRun): Promise<void> => restore(deps, caller, { wish, chain, run })
      return jobs.start({ kind: 'backup.restore', project, resource, requestId: caller.requestId }, work)
    },
  }
}

interface Restoring {
  wish: BackupRestoreOptions
  chain: readonly ChainLink[]
  run: JobRun
}

async function restore(deps: BackupRestoreDeps, caller: Caller, { wish, chain, run }: Restoring): Promise<void> {
  const last = chain.at(-1)
  if (!last) return
  const { volume, id } = last.manifest
  const body: CreateVolumeBody = { name: wish.name, size_gb: wish.sizeGb ?? volume.size_gb, tags: wish.tags }
  const origin = {
    from: `backup:${id}`,
    sizeGb: volume.size_gb,
    fill: (subvolume: string, quotaBytes: number) => fillFromBackup(deps, { subvolume, quotaBytes }, { chain, run }),
  }
  await createVolume(deps, caller, { project: wish.project, body, idempotencyKey: wish.idempotencyKey, origin })
}

/**
 * Makes the subvolume of a volume of a chain of backups, for which the caller has written a tombstone.
 * @throws ServiceError `backup_damaged` that names what is missing or altered, `storage_full`
 */
export async function fillFromBackup(
  deps: Pick<BackupRestoreDeps, 'store' | 'filesystem' | 'backupStore' | 'clock' | 'reconciler'>,
  { subvolume, quotaBytes }: { subvolume: string; quotaBytes: number },
  { chain, run }: Pick<Restoring, 'chain' | 'run'>,
): Promise<void> {
  const { store, filesystem, backupStore, clock } = deps
  const { signal } = run
  const totalBytes = 2 * Math.max(1, sizeOf(chain))
  let doneBytes = 0
  const onBytes = (count: number): void => {
    doneBytes += count
    run.progress(Math.min(0.99, doneBytes / totalBytes))
  }
  const container = newId('bak', clock.now()).replace('bak_', 'tmp_')
  const tombstone = { id: container, root: container, createdAt: clock.now() }
  const ending = new AbortController()
  await store.tombstones.insert(tombstone)
  try {
    const streams = readChain(backupStore, chain, { signal: AbortSignal.any([signal, ending.signal]), onBytes })
    await filesystem.receive({ container, name: subvolume, quotaBytes, streams, signal })
  } finally {
    ending.abort()
    await discardUncommitted(deps, tombstone)
  }
}

/** @throws ServiceError `volume_too_small` for a size that does not hold what was backed up; null is the size it had */
export function checkSize(chain: readonly ChainLink[], sizeGb: number | null): void {
  const usedBytes = chain.at(-1)?.manifest.volume.used_bytes ?? 0
  if (sizeGb === null || sizeGb * 1024 ** 3 >= usedBytes) return
  const detail = `The backup holds ${Math.ceil(usedBytes / 1024 ** 2)} MiB, more than the data volume may.`
  throw new ServiceError('volume_too_small', detail)
}

function sizeOf(chain: readonly ChainLink[]): number {
  return chain.reduce((sum, { manifest }) => sum + manifest.size_bytes, 0)
}
