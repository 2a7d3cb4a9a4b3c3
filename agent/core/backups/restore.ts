import { backupDirectory, DELETED } from '../../../shared/backup-manifest.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { CreateVolumeBody } from '../../../shared/schemas/volumes.ts'
import type { BackupStore } from '../../ports/backups/store.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { findVolume, type VolumeRef } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { StorageBounds } from '../common/storage-bounds.ts'
import type { JobRun, Jobs } from '../operations/jobs.ts'
import { type CreateVolumeDeps, createVolume, nameTaken } from '../volumes/create.ts'
import { replaceData } from '../volumes/restore.ts'
import type { VolumeSwapDeps } from '../volumes/swap.ts'
import { backupNotFound, type KnownBackup } from './backups.ts'
import { type BackupCatalog, type ChainLink, checkTrusted, isListed, type StoredBackup } from './catalog.ts'
import { readChain } from './chain-reader.ts'

export interface BackupRestoreDeps extends CreateVolumeDeps, VolumeSwapDeps {
  backupStore: BackupStore
  catalog: BackupCatalog
  jobs: Jobs
  bounds: Pick<StorageBounds, 'explaining'>
}

/** The volume to create from a backup. */
export interface BackupRestoreOptions {
  project: string
  name: string
  /** Null: the size of the volume that was backed up. */
  sizeGb: number | null
  tags: Record<string, string>
  idempotencyKey: string | null
}

/** The volume to restore over, how long the client waits, and the version that it expects. */
export interface RestoreOverOptions {
  ref: VolumeRef
  waitMs: number
  ifMatch: string | null
}

/** Restores volumes from the backup store, also backups that another deployment put there. */
export interface BackupRestore {
  /** Finds a backup of the project by its id in the store. @throws ServiceError `backup_not_found` */
  find(project: string, id: string): Promise<{ stored: StoredBackup }>
  /**
   * Starts to restore a backup into a new volume, and returns the operation's id. Verifies the digest of every part before it receives
   * the part, also of the backups below it. Fails with `backup_not_found` if the backup is deleted during the restore.
   * @throws ServiceError `name_taken`, `volume_too_small`, `backup_damaged` if a manifest is missing or altered
   */
  restoreAsNew(caller: Caller, known: KnownBackup, options: BackupRestoreOptions): Promise<string>
  /**
   * Starts to replace the data of a volume in all boxes that have it, once the backup is received. Returns the operation's id.
   * Keeps the earlier data as an automatic snapshot. A failure or crash changes nothing. Waits while processes use the
   * volume, as long as the client waits, or for 30 s after it has stopped waiting.
   * @throws ServiceError `volume_not_found`, `precondition_failed`, `volume_too_small`, `backup_damaged` if a manifest was altered
   */
  restoreOver(caller: Caller, known: KnownBackup, options: RestoreOverOptions): Promise<string>
}

/** Runs restores as jobs. The next start destroys what a crash left of one. */
export function createBackupRestore(deps: BackupRestoreDeps): BackupRestore {
  const { store, catalog, jobs, clock } = deps
  return {
    find: async (project, id) => {
      const stored = await catalog.find(project, id)
      checkTrusted(stored)
      if (!stored || !isListed(stored)) throw backupNotFound(id)
      return { stored }
    },
    restoreAsNew: async (caller, known, options) => {
      const { project, name } = options
      if (await store.volumes.get(project, name)) throw nameTaken(options)
      const backup = 'record' in known ? known.record : known.stored
      const chain = await whileKept(deps, backup, () => catalog.chain(backup))
      checkSize(chain, options.sizeGb)
      const resource = `/v1/projects/${project}/data/${name}`
      const work = (run: JobRun) => whileKept(deps, backup, () => restore(deps, caller, { options, chain, run }))
      return jobs.start({ kind: 'backup.restore', project, resource, requestId: caller.requestId }, work)
    },
    restoreOver: async (caller, known, { ref, waitMs, ifMatch }) => {
      const answerBy = clock.now() + waitMs
      const volume = await findVolume(store, ref)
      checkIfMatch(ifMatch, volume.version)
      const backup = 'record' in known ? known.record : known.stored
      const chain = await whileKept(deps, backup, () => catalog.chain(backup))
      checkSize(chain, volume.sizeGb)
      const { project, name } = volume
      const job = { project, resource: `/v1/projects/${project}/data/${name}`, requestId: caller.requestId }
      return jobs.start({ kind: 'backup.restore', ...job }, (run) =>
        replaceData(deps, volume, {
          ...{ of: `backup:${backup.id}`, tokenId: caller.tokenId, signal: run.signal },
          fill: (subvolume, quotaBytes) =>
            whileKept(deps, backup, () => fillFromBackup(deps, { subvolume, project, quotaBytes }, { chain, run })),
          idleBy: () => idleBy(clock.now(), answerBy),
        }),
      )
    },
  }
}

type BackupIds = Pick<StoredBackup, 'project' | 'volumeId' | 'id'>

/**
 * Reads a backup by `work`.
 * @throws ServiceError `backup_not_found` instead of `backup_damaged` if the backup was deleted during the read
 */
async function whileKept<T>(deps: BackupRestoreDeps, backup: BackupIds, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isIncomplete = error instanceof ServiceError && error.code === 'backup_damaged'
    throw isIncomplete && (await isDeleted(deps, backup)) ? backupNotFound(backup.id) : error
  }
}

/** Returns true if this deployment, or another of the same store, has deleted the backup. Its objects may be gone already. */
async function isDeleted(
  { backupStore, store }: Pick<BackupRestoreDeps, 'backupStore' | 'store'>,
  { project, volumeId, id }: BackupIds,
): Promise<boolean> {
  const directory = backupDirectory(project, volumeId, id)
  let count = 0
  for await (const { name } of backupStore.list(directory)) {
    if (name === directory + DELETED) return true
    count += 1
  }
  const record = await store.backups.get(id)
  // Without a record, a backup is known only by its objects.
  return record === null ? count === 0 : record.deletedAt !== null
}

interface Restoring {
  options: BackupRestoreOptions
  chain: readonly ChainLink[]
  run: JobRun
}

async function restore(deps: BackupRestoreDeps, caller: Caller, { options, chain, run }: Restoring): Promise<void> {
  const last = chain.at(-1)
  if (!last) return
  const { volume, id } = last.manifest
  const body: CreateVolumeBody = { name: options.name, size_gb: options.sizeGb ?? volume.size_gb, tags: options.tags }
  const origin = {
    from: `backup:${id}`,
    sizeGb: volume.size_gb,
    fill: (subvolume: string, quotaBytes: number) =>
      fillFromBackup(deps, { subvolume, project: options.project, quotaBytes }, { chain, run }),
  }
  await createVolume(deps, caller, { project: options.project, body, idempotencyKey: options.idempotencyKey, origin })
}

/**
 * Receives a chain of backups into a subvolume, for which the caller has written a tombstone.
 * @throws ServiceError `backup_damaged` that names what is missing or altered, `storage_full`
 */
async function fillFromBackup(
  deps: Pick<BackupRestoreDeps, 'store' | 'filesystem' | 'backupStore' | 'clock' | 'reconciler' | 'bounds'>,
  { subvolume, project, quotaBytes }: { subvolume: string; project: string; quotaBytes: number },
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
    const request = { container, name: subvolume, project, quotaBytes, streams, signal }
    await deps.bounds.explaining(project, () => filesystem.receive(request))
  } finally {
    ending.abort()
    await discardUncommitted(deps, tombstone)
  }
}

/** @throws ServiceError `volume_too_small` if the backed-up data does not fit the size. Null means the original size */
function checkSize(chain: readonly ChainLink[], sizeGb: number | null): void {
  const usedBytes = chain.at(-1)?.manifest.volume.used_bytes ?? 0
  if (sizeGb === null || sizeGb * 1024 ** 3 >= usedBytes) return
  throw refusal('volume_too_small', [
    `\`size_gb\`: the backup holds ${Math.ceil(usedBytes / 1024 ** 2)} MiB, more than the data volume may.`,
    'Ask for more, or leave the field out.',
  ])
}

function sizeOf(chain: readonly ChainLink[]): number {
  return chain.reduce((sum, { manifest }) => sum + manifest.size_bytes, 0)
}

// Leaves time to answer `volume_busy` while the client still waits.
function idleBy(now: number, answerBy: number): number {
  return now < answerBy ? answerBy - ANSWER_MS : now + UNWATCHED_MS
}

const ANSWER_MS = 500
const UNWATCHED_MS = 30_000
