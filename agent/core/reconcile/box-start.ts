import { ServiceError } from '../../../shared/errors.ts'
import type { BoxMount, BoxSpec } from '../../ports/boxes/runtime.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/store.ts'
import { shortDigestOf } from '../common/digest.ts'
import { environmentOf } from '../common/environment.ts'
import type { Reaper } from './reaper.ts'

/**
 * Makes sure that a box may start: it has its root, and no deleted box that has not ended yet has one of its volumes. A
 * root that was there once is never made anew: the box would look well and its data be gone.
 * @throws ServiceError `internal` for a root that is lost, `volume_in_use` after `waitMs`
 */
export async function checkStart(
  { filesystem, reaper, waitMs }: { filesystem: CowFilesystem; reaper: Reaper; waitMs: number },
  record: BoxRecord,
): Promise<void> {
  if (!(await filesystem.exists(record.root)))
    throw new ServiceError('internal', "The box's root is missing from the pool.")
  const trees = record.mounts.map(({ subvolume }) => filesystem.path(subvolume))
  // A box that is deleted while it starts does not wait for itself.
  if (await reaper.untilFree(trees, waitMs, record.id)) return
  throw new ServiceError('volume_in_use', 'A deleted box that has not ended yet still has a data volume of this one.')
}

/** What the runtime starts a box from. */
export function boxSpecOf(record: BoxRecord, filesystem: CowFilesystem, pidsMax: number): BoxSpec {
  const { id, name, project } = record
  return {
    id,
    project,
    name,
    rootPath: filesystem.path(record.root),
    hostname: name,
    machineId: shortDigestOf(id),
    cpus: record.config.cpus,
    ramMb: record.config.ram_mb,
    pidsMax,
    environment: environmentOf(record),
    graceSeconds: record.gracePeriodSeconds,
    mounts: boxMountsOf(record, filesystem),
  }
}

/** The data volumes of a box as the runtime mounts them, those nearer to `/` first. */
export function boxMountsOf({ mounts }: Pick<BoxRecord, 'mounts'>, filesystem: CowFilesystem): BoxMount[] {
  return mounts.map((mount) => boxMountOf(mount, filesystem)).toSorted(byDepth)
}

/** A data volume as the runtime mounts it. */
export function boxMountOf({ subvolume, path, readOnly }: MountRecord, filesystem: CowFilesystem): BoxMount {
  return { source: filesystem.path(subvolume), path, readOnly }
}

/** The outcome of a change to a running box; one that has ended meanwhile gets it with its next start. */
export async function unlessEnded(change: Promise<void>): Promise<void> {
  try {
    await change
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'box_not_running') throw error
  }
}

// One below another's path comes after it.
function byDepth(a: BoxMount, b: BoxMount): number {
  return a.path.split('/').length - b.path.split('/').length
}
