import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { discardUncommitted } from '../common/create-record.ts'
import type { BaseSizes } from './measure.ts'

export interface BaseCreateDeps {
  store: Store
  filesystem: CowFilesystem
  /** Destroys a subvolume that has no record. */
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
  sizes: Pick<BaseSizes, 'count'>
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
 * Makes a base of the read-only subvolume that `fill` creates under the given name. Writes the record once that subvolume is
 * durable; destroys it if `fill` fails, and after a crash.
 * @throws ServiceError `name_taken`, `quota_exceeded`, and the errors of `fill`
 */
export async function makeBase(
  deps: BaseCreateDeps,
  request: BaseRequest,
  fill: (subvolume: string) => Promise<void>,
): Promise<BaseRecord> {
  const { store, clock, sizes } = deps
  await checkCreatable(deps, request)
  const createdAt = clock.now()
  const id = newId('bas', createdAt)
  const tombstone = { id, root: id, createdAt }
  await store.tombstones.insert(tombstone)
  try {
    await deps.filesystem.withSoundWrites(() => fill(id))
    const record = await store.bases.insert({ ...request, id, subvolume: id, createdAt, sizeBytes: null })
    if (!record) throw nameTaken(request)
    sizes.count(record)
    return record
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
}

/**
 * Checks that a base of that name may be made now, before any work is done for it.
 * @throws ServiceError `name_taken`, `quota_exceeded`, `storage_full`
 */
export async function checkCreatable(
  { store, filesystem }: Pick<BaseCreateDeps, 'store' | 'filesystem'>,
  { project, name }: Pick<BaseRequest, 'project' | 'name'>,
): Promise<void> {
  if (await store.bases.get(project, name)) throw nameTaken({ project, name })
  if ((await store.bases.count(project)) >= BASES_MAX) throw tooMany({ project })
  const { availableBytes } = await filesystem.capacity()
  if (availableBytes < ROOM_BYTES) throw new ServiceError('storage_full', 'The storage pool has no room for a base.')
}

/** Finds the subvolume of a box's root as it is now, or was in a snapshot, and the `source` of a base made of it. */
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

function nameTaken({ project, name }: Pick<BaseRequest, 'project' | 'name'>): ServiceError {
  const owner = project === null ? 'All projects share' : `Project "${project}" has`
  return new ServiceError('name_taken', `${owner} a base named "${name}" already.`)
}

function tooMany({ project }: Pick<BaseRequest, 'project'>): ServiceError {
  const owner = project === null ? 'All projects share' : `Project "${project}" has`
  return new ServiceError('quota_exceeded', `${owner} ${BASES_MAX} bases, as many as there may be; delete some.`)
}

/** Most bases of one project, and most shared ones. */
export const BASES_MAX = 100
const ROOM_BYTES = 64 * 1024 ** 2
