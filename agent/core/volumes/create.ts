import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { CreateVolumeBody } from '../../../shared/schemas/volumes.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/discard-uncommitted.ts'
import { bytesOf } from '../common/sizes.ts'
import type { VolumeRef } from '../common/volume-lookup.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { findVolumeOrigin, type OriginDeps, type VolumeOrigin } from './copies.ts'

export interface CreateVolumeDeps extends OriginDeps {
  reconciler: Reconciler
  clock: Clock
  admission: Admission
}

/** A volume that somebody asks for. */
export interface NewVolume {
  project: string
  body: CreateVolumeBody
  idempotencyKey: string | null
  /** Another than `body` tells of. */
  origin?: VolumeOrigin
}

/**
 * Makes a volume, empty or a copy. The tombstone stands for a subvolume that has no record yet, and goes in the commit that
 * writes one.
 * @throws ServiceError `name_taken`, `quota_exceeded`, and those of `findVolumeOrigin`
 */
export async function createVolume(deps: CreateVolumeDeps, caller: Caller, asked: NewVolume): Promise<VolumeRecord> {
  const { store, clock, admission } = deps
  const { project, body, idempotencyKey } = asked
  if (await store.volumes.get(project, body.name)) throw nameTaken({ project, name: body.name })
  const origin = asked.origin ?? (await findVolumeOrigin(deps, project, body))
  const now = clock.now()
  const id = newId('vol', now)
  const record: VolumeRecord = {
    id,
    project,
    name: body.name,
    version: 1,
    createdAt: now,
    updatedAt: now,
    subvolume: id,
    sizeGb: body.size_gb ?? origin.sizeGb,
    from: origin.from,
    backupSchedule: null,
    tags: body.tags ?? {},
    createdBy: { token: caller.tokenId, idempotencyKey },
  }
  const wish = { project, volumes: 1, storageGb: record.sizeGb }
  await admission.check(wish)
  const tombstone = { id, root: id, createdAt: now }
  await store.tombstones.insert(tombstone)
  try {
    await origin.fill(id, bytesOf(record.sizeGb))
    if (!(await admission.admit(wish, () => store.volumes.insert(record))))
      throw nameTaken({ project, name: body.name })
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
  return record
}

/** The error that tells of a volume that is there already. */
export function nameTaken({ project, name }: VolumeRef): ServiceError {
  return new ServiceError('name_taken', `Project "${project}" has a data volume named "${name}" already.`)
}
