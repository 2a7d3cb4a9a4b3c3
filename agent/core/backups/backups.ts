import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { findVolume, type VolumeRef, volumeGone } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import { checkTrusted, isListed, type StoredBackup } from './catalog.ts'
import { type BackupJobsDeps, createBackupJobs } from './jobs.ts'

/** The requester of a backup: a client, or the volume's schedule (`automatic`). */
export interface BackupOptions {
  caller: Pick<Caller, 'tokenId' | 'requestId'>
  idempotencyKey: string | null
  automatic: boolean
}

/** A backup of this deployment, or one that only the store knows. */
export type KnownBackup = { record: BackupRecord } | { stored: StoredBackup }

/** Creates, lists and deletes backups of volumes. */
export interface Backups {
  /**
   * Takes a read-only copy of the current data of a volume, and starts to send it to the store.
   * @throws ServiceError `volume_not_found`, `volume_busy` while another of the same volume is under way
   */
  create(ref: VolumeRef, options: BackupOptions): Promise<BackupRecord>
  /** Lists the backups of a volume that this deployment made, oldest first. @throws ServiceError `volume_not_found` */
  list(ref: VolumeRef): Promise<BackupRecord[]>
  /** Gets one, also of a deleted volume or of another deployment. @throws ServiceError `backup_not_found`, `backup_damaged` if nothing proves who wrote it */
  get(ref: VolumeRef, id: string): Promise<KnownBackup>
  /** Deletes one. Aborts one that is running. @throws ServiceError `backup_not_found`, `precondition_failed` */
  remove(ref: VolumeRef, id: string, ifMatch: string | null): Promise<void>
  /** Resumes the backups and removals that an earlier agent began. */
  recover(): Promise<void>
}

/** Runs at most two backups at once, and one per volume. */
export function createBackups(deps: BackupJobsDeps): Backups {
  const { store, records, catalog } = deps
  const volumeLocks = createKeyedLock()
  const { removal, ...jobs } = createBackupJobs(deps)
  const get: Backups['get'] = async (ref, id) => {
    const record = await records.get(id)
    if (record?.project === ref.project && record.volume === ref.name && record.deletedAt === null) return { record }
    const stored = record ? null : await catalog.find(ref.project, id)
    checkTrusted(stored)
    if (stored && isListed(stored) && stored.manifest?.volume.name === ref.name) return { stored }
    throw backupNotFound(id)
  }
  return {
    get,
    create: async (ref, options) => {
      const { id } = await findVolume(store, ref)
      return volumeLocks.run(id, async () => {
        const volume = await findVolume(store, ref)
        const earlier = await records.of(volume.id)
        const own = earlier.find((each) => isOwn(each, options))
        if (own) return own
        if (earlier.some(({ status }) => status === 'running')) {
          throw refusal('volume_busy', [
            `A backup of the data volume "${volume.name}" is under way.`,
            'Try again when that is done.',
          ])
        }
        return jobs.start(await takeCopy(deps, { volume, options, last: lastOf(earlier) }), options.caller.requestId)
      })
    },
    list: async (ref) => {
      const { id } = await findVolume(store, ref)
      return (await records.of(id)).filter(({ deletedAt }) => deletedAt === null)
    },
    remove: async (ref, id, ifMatch) => {
      const find = async () => {
        const known = await get(ref, id)
        checkIfMatch(ifMatch, versionOfBackup(known))
        return 'record' in known ? known.record : known.stored
      }
      // Under the lock, since a backup that starts now may take this one as its parent.
      await volumeLocks.run((await find()).volumeId, async () => removal.remove(await find()))
      jobs.abort(id)
      void removal.sweep(ref.project)
    },
    recover: async () => {
      for (const record of await records.running()) {
        await jobs.resume(record)
      }
      const projects = new Set((await records.all()).map(({ project }) => project))
      for (const project of projects) void removal.sweep(project)
    },
  }
}

/** Returns the version for the entity tag, which changes when a backup ends and when its copy is released. */
export function versionOfBackup(known: KnownBackup): number {
  if ('stored' in known) return RELEASED_VERSION
  const { status, subvolume } = known.record
  if (status === 'running') return 1
  return subvolume === null ? RELEASED_VERSION : 2
}

export function backupNotFound(id: string): ServiceError {
  return new ServiceError('backup_not_found', `No backup "${id}".`)
}

function lastOf(earlier: readonly BackupRecord[]): BackupRecord | undefined {
  return earlier.findLast(({ status, deletedAt }) => status === 'done' && deletedAt === null)
}

type Parent = Pick<BackupRecord, 'parent' | 'depth'>

/**
 * Finds the parent of the backup of `copy`. This is the last one, unless its chain is at the limit. It is also not the parent if its
 * copy shares no origin with this one, because the volume was restored from a backup in between.
 */
async function findParent(
  { filesystem }: Pick<BackupJobsDeps, 'filesystem'>,
  copy: string,
  last: BackupRecord | undefined,
): Promise<Parent> {
  const subvolume = last?.subvolume ?? null
  if (!last || subvolume === null || last.depth >= INCREMENTS_MAX) return FULL
  const [one, other] = await Promise.all([filesystem.origin(subvolume), filesystem.origin(copy)])
  return one === other ? { parent: { id: last.id, subvolume }, depth: last.depth + 1 } : FULL
}

async function takeCopy(
  deps: BackupJobsDeps,
  { volume, options, last }: { volume: VolumeRecord; options: BackupOptions; last: BackupRecord | undefined },
): Promise<BackupRecord> {
  const { store, records, filesystem, clock } = deps
  const now = clock.now()
  const subvolume = newId('snp', now)
  const tombstone = { id: subvolume, root: subvolume, createdAt: now }
  await filesystem.checkWritable()
  await store.tombstones.insert(tombstone)
  try {
    const find = async (): Promise<string> => (await findVolume(store, volume)).subvolume
    const { project } = volume
    await copyTree(filesystem, find, { name: subvolume, project, isReadOnly: true, quotaBytes: null })
    // Taking the copy flushes recent writes, which are counted only then.
    const usedBytes = await filesystem.usedBytes(await find())
    const record: BackupRecord = {
      ...{ id: deps.newBackupId(now), project, volumeId: volume.id, volume: volume.name },
      ...{ sizeGb: volume.sizeGb, usedBytes, status: 'running', createdAt: now, endedAt: null, error: null, subvolume },
      ...(await findParent(deps, subvolume, last)),
      ...{ parts: [], sha256: null, isSigned: false, automatic: options.automatic, operation: null },
      ...{ deletedAt: null, isCleared: false },
      createdBy: { token: options.caller.tokenId, idempotencyKey: options.idempotencyKey },
    }
    if (await records.insert(record)) return record
    throw volumeGone('The data volume')
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
}

function isOwn({ createdBy }: BackupRecord, { caller, idempotencyKey }: BackupOptions): boolean {
  return idempotencyKey !== null && createdBy.token === caller.tokenId && createdBy.idempotencyKey === idempotencyKey
}

const FULL: Parent = { parent: null, depth: 0 }
/** Most increments in a chain, after which a full backup is made. */
export const INCREMENTS_MAX = 30

const RELEASED_VERSION = 3
