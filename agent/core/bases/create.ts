import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { FREE_POOL, OTHER_NAME, quotaExceeded, refusal } from '../../../shared/refusals.ts'
import { type Directory, OWNER_HEADER } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { StorageBounds } from '../common/storage-bounds.ts'
import { dropCopyOf } from '../fleet/base-copies.ts'
import { baseClaimOf, baseHomeOf, requestDigestOf } from '../fleet/base-names.ts'
import { discardClaimed } from '../fleet/homes.ts'
import type { BaseSizes } from './measure.ts'

export interface BaseCreateDeps {
  store: Store
  filesystem: CowFilesystem
  directory: Pick<Directory, 'cell' | 'bases' | 'release'>
  /** Destroys a subvolume that has no record. */
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
  sizes: Pick<BaseSizes, 'count'>
  bounds: Pick<StorageBounds, 'checkRoom' | 'explaining'>
}

/** Fields of a base's record that are known before it is made. */
export interface BaseRequest {
  /** Null: shared by all projects. */
  project: string | null
  name: string
  source: string
  createdBy: BaseRecord['createdBy']
}

/**
 * Claims the name of a base, and makes it of the read-only subvolume that `fill` creates under the given name. Writes the record once
 * that subvolume is durable. Destroys it, and gives the name up, if `fill` fails, and after a crash.
 * @throws ServiceError `name_taken`, `quota_exceeded`, `runtime_unavailable` of the claim, and the errors of `fill`
 */
export async function makeBase(
  deps: BaseCreateDeps,
  request: BaseRequest,
  fill: (subvolume: string) => Promise<void>,
): Promise<BaseRecord> {
  const { store, clock, sizes, directory } = deps
  await checkCreatable(deps, request)
  const createdAt = clock.now()
  const id = newId('bas', createdAt)
  const tombstone = { id, root: id, createdAt, home: baseHomeOf({ ...request, id }) }
  await store.tombstones.insert(tombstone)
  try {
    const next = await store.bases.nextVersion(request.project, request.name)
    const { version } = await directory.bases.claim(baseClaimOf({ ...request, id, createdAt, version: next }))
    await dropCopyOf(deps, request)
    await deps.bounds.explaining(request.project, () => deps.filesystem.withSoundWrites(() => fill(id)))
    const record = await store.bases.insert({ ...request, id, version, subvolume: id, createdAt, sizeBytes: null })
    if (!record) throw nameTaken(request)
    sizes.count(record)
    return record
  } catch (error) {
    await discardClaimed(deps, tombstone, error)
    throw error
  }
}

/**
 * Checks that a base of that name may be made now, before any work is done for it.
 * @throws ServiceError `name_taken`, `quota_exceeded`, `storage_full`
 */
export async function checkCreatable(
  { store, filesystem, directory, bounds }: Pick<BaseCreateDeps, 'store' | 'filesystem' | 'directory' | 'bounds'>,
  { project, name, createdBy }: Pick<BaseRequest, 'project' | 'name' | 'createdBy'>,
): Promise<void> {
  const known = directory.bases.find({ project, name })
  if (known !== null && known.cell !== directory.cell) {
    const digest = requestDigestOf(createdBy)
    throw nameTaken(
      { project, name },
      digest !== null && digest === known.createdBy ? { [OWNER_HEADER]: known.cell } : {},
    )
  }
  const present = await store.bases.get(project, name)
  // A copy of one that is no more is none.
  if (present !== null && present.cell === undefined) throw nameTaken({ project, name })
  if ((await store.bases.count(project)) >= BASES_MAX) throw tooMany({ project })
  if (project !== null) await bounds.checkRoom(project)
  const { availableBytes } = await filesystem.capacity()
  if (availableBytes < ROOM_BYTES)
    throw refusal('storage_full', ['The storage pool has no room for a base.', FREE_POOL])
}

/** Finds the subvolume of a box's current root or of a snapshot, and the `source` of a base made from it. */
export async function findBoxSource(
  store: Store,
  { project, box: name, snapshot }: { project: string; box: string; snapshot?: string | undefined },
): Promise<{ subvolume: string; source: string }> {
  const box = await store.boxes.get(project, name)
  if (!box) throw new ServiceError('box_not_found', `No box named "${name}" in project "${project}".`)
  if (snapshot === undefined) return { subvolume: box.root, source: `box:${name}` }
  const record = await store.snapshots.get(box.id, snapshot)
  if (record) return { subvolume: record.subvolume, source: `box:${name}@${snapshot}` }
  throw new ServiceError('snapshot_not_found', `The box "${name}" has no snapshot named "${snapshot}".`)
}

function nameTaken(
  { project, name }: Pick<BaseRequest, 'project' | 'name'>,
  headers: Record<string, string> = {},
): ServiceError {
  const owner = project === null ? 'All projects share' : `Project "${project}" has`
  return refusal('name_taken', [`${owner} a base named "${name}" already.`, OTHER_NAME], { headers })
}

function tooMany({ project }: Pick<BaseRequest, 'project'>): ServiceError {
  const owner = project === null ? 'All projects share' : `Project "${project}" has`
  return quotaExceeded(`${owner} ${BASES_MAX} bases, the most allowed.`, 'Delete one.')
}

/** Most bases of one project, and most shared ones. */
export const BASES_MAX = 100
const ROOM_BYTES = 64 * 1024 ** 2
