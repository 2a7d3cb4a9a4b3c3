import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { findVolume, type VolumeRef, volumeGone } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import { isListed, type StoredBackup } from './catalog.ts'
import { type BackupWorkDeps, createBackupWork } from './work.ts'

/** Who asks for a backup: a request, or the volume's schedule. */
export interface BackupOptions {
  caller: Pick<Caller, 'tokenId' | 'requestId'>
  idempotencyKey: string | null
  automatic: boolean
}

/** A backup of this deployment, or one that only the store knows. */
export type KnownBackup = { record: BackupRecord } | { stored: StoredBackup }

/** The backups of the API. */
export interface Backups {
  /**
   * Takes a copy of a volume as it is now and begins to send it to the store.
   * @throws ServiceError `volume_not_found`, `volume_busy` while another of the same volume is under way
   */
  create(ref: VolumeRef, wish: BackupOptions): Promise<BackupRecord>
  /** Those of a volume that this deployment made, oldest first. @throws ServiceError `volume_not_found` */
  list(ref: VolumeRef): Promise<BackupRecord[]>
  /** Also of a volume that is gone, or of another deployment. @throws ServiceError `backup_not_found` */
  get(ref: VolumeRef, id: string): Promise<KnownBackup>
  /** One that is under way ends. @throws ServiceError `backup_not_found`, `precondition_failed` */
  remove(ref: VolumeRef, id: string, ifMatch: string | null): Promise<void>
  /** Goes on with what an agent before this one began. */
  recover(): Promise<void>
}

/** At most two are made at once, one of each volume. */
export function createBackups(deps: BackupWorkDeps): Backups {
  const { store, records, catalog } = deps
  const turns = createKeyedLock()
  const { removal, ...work } = createBackupWork(deps)
  const get: Backups['get'] = async (ref, id) => {
    const record = await records.get(id)
    if (record?.project === ref.project && record.volume === ref.name && record.deletedAt === null) return { record }
    const stored = record ? null : await catalog.find(ref.project, id)
    if (stored && isListed(stored) && stored.manifest?.volume.name === ref.name) return { stored }
    throw backupNotFound(id)
  }
  return {
    get,
    create: async (ref, wish) => {
      const { id } = await findVolume(store, ref)
      return turns.run(id, async () => {
        const volume = await findVolume(store, ref)
        const earlier = await records.of(volume.id)
        const own = earlier.find((each) => isOwn(each, wish))
        if (own) return own
        if (earlier.some(({ status }) => status === 'running')) {
          throw new ServiceError('volume_busy', `A backup of the data volume "${volume.name}" is under way.`)
        }
        return work.begin(await takeCopy(deps, { volume, wish, last: lastOf(earlier) }), wish.caller.requestId)
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
      // Not while another backup is begun, which may build on this one, nor while somebody else deletes it.
      await turns.run((await find()).volumeId, async () => removal.remove(await find()))
      work.end(id)
      void removal.sweep(ref.project)
    },
    recover: async () => {
      for (const record of await records.running()) {
        await work.takeUp(record)
      }
      const projects = new Set((await records.all()).map(({ project }) => project))
      for (const project of projects) void removal.sweep(project)
    },
  }
}

/** What the entity tag of a backup is made of: it ends, and later its copy is given up. */
export function versionOfBackup(known: KnownBackup): number {
  if ('stored' in known) return GIVEN_UP_VERSION
  const { status, subvolume } = known.record
  if (status === 'running') return 1
  return subvolume === null ? GIVEN_UP_VERSION : 2
}

/** The error that tells of a backup that is not there. */
export function backupNotFound(id: string): ServiceError {
  return new ServiceError('backup_not_found', `No backup "${id}".`)
}

function lastOf(earlier: readonly BackupRecord[]): BackupRecord | undefined {
  return earlier.findLast(({ status, deletedAt }) => status === 'done' && deletedAt === null)
}

type Parent = Pick<BackupRecord, 'parent' | 'depth'>

/**
 * What the backup of `copy` builds on: the last that was made, unless too many come before it, or its copy has nothing in
 * common with this one, since the volume has been given the data of a backup meanwhile.
 */
async function findParent(
  { filesystem }: Pick<BackupWorkDeps, 'filesystem'>,
  copy: string,
  last: BackupRecord | undefined,
): Promise<Parent> {
  const subvolume = last?.subvolume ?? null
  if (!last || subvolume === null || last.depth >= INCREMENTS_MAX) return FULL
  const [one, other] = await Promise.all([filesystem.origin(subvolume), filesystem.origin(copy)])
  return one === other ? { parent: { id: last.id, subvolume }, depth: last.depth + 1 } : FULL
}

async function takeCopy(
  deps: BackupWorkDeps,
  { volume, wish, last }: { volume: VolumeRecord; wish: BackupOptions; last: BackupRecord | undefined },
): Promise<BackupRecord> {
  const { store, records, filesystem, clock } = deps
  const now = clock.now()
  const subvolume = newId('snp', now)
  const tombstone = { id: subvolume, root: subvolume, createdAt: now }
  await filesystem.checkWritable()
  await store.tombstones.insert(tombstone)
  try {
    const find = async (): Promise<string> => (await findVolume(store, volume)).subvolume
    await copyTree(filesystem, find, { name: subvolume, isReadOnly: true, quotaBytes: null })
    // What was written shortly before is counted once there is a copy of it.
    const usedBytes = await filesystem.usedBytes(await find())
    const record: BackupRecord = {
      ...{ id: newId('bak', now), project: volume.project, volumeId: volume.id, volume: volume.name },
      ...{ sizeGb: volume.sizeGb, usedBytes, status: 'running', createdAt: now, endedAt: null, error: null, subvolume },
      ...(await findParent(deps, subvolume, last)),
      ...{ parts: [], sha256: null, automatic: wish.automatic, operation: null },
      ...{ deletedAt: null, isCleared: false },
      createdBy: { token: wish.caller.tokenId, idempotencyKey: wish.idempotencyKey },
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
/** Backups that build on one another, after which comes a full one. */
export const INCREMENTS_MAX = 30

const GIVEN_UP_VERSION = 3
