import { ServiceError } from '../../../shared/errors.ts'
import type { BoxLimits, BoxMount, BoxSpec } from '../../ports/boxes/runtime.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import { shortDigestOf } from '../common/digest.ts'
import { environmentOf } from '../common/environment.ts'
import { checkNesting } from '../common/nesting.ts'

/** Bounds of boxes that their specs have. */
export interface SpecLimits {
  pidsPerBox: number
  /** Whether boxes may have `config.nesting`. */
  allowsNesting: boolean
  /** Mbit/s that a box may have at most, each way; null: without a bound. */
  networkMbps: number | null
}

/**
 * Returns the spec that the runtime starts a box from.
 * @throws ServiceError `nesting_not_allowed`, for a box that had it when the operator allowed it
 */
export function boxSpecOf(record: BoxRecord, filesystem: CowFilesystem, limits: SpecLimits): BoxSpec {
  checkNesting(record, limits.allowsNesting)
  const { id, name, project } = record
  return {
    id,
    project,
    name,
    rootPath: filesystem.path(record.root),
    hostname: name,
    machineId: shortDigestOf(id),
    ...limitsOf(record, limits.networkMbps),
    pidsMax: limits.pidsPerBox,
    environment: environmentOf(record),
    graceSeconds: record.gracePeriodSeconds,
    nesting: record.config.nesting,
    mounts: boxMountsOf(record, filesystem),
  }
}

/**
 * Returns the limits of a box that its runtime sets, and changes while it runs. No box gets more network than `mostMbps`, if that is not
 * null, also if its record is of a time when it might have more.
 */
export function limitsOf({ config }: Pick<BoxRecord, 'config'>, mostMbps: number | null): BoxLimits {
  const { cpus, ram_mb: ramMb, network_mbps: mbps } = config
  return { cpus, ramMb, networkMbps: mostMbps === null ? mbps : Math.min(mbps ?? mostMbps, mostMbps) }
}

/** Returns the data volumes of a box as the runtime mounts them, those nearer to `/` first. */
export function boxMountsOf({ mounts }: Pick<BoxRecord, 'mounts'>, filesystem: CowFilesystem): BoxMount[] {
  return mounts.map((mount) => boxMountOf(mount, filesystem)).toSorted(byDepth)
}

/** Returns a data volume as the runtime mounts it. */
export function boxMountOf({ subvolume, path, readOnly }: MountRecord, filesystem: CowFilesystem): BoxMount {
  return { source: filesystem.path(subvolume), path, readOnly }
}

/** Awaits a change of a running box; ignores that the box has ended meanwhile, since its next start makes the change. */
export async function unlessEnded(change: Promise<void>): Promise<void> {
  try {
    await change
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'box_not_running') throw error
  }
}

// Sorts a mount below another's path after it.
function byDepth(a: BoxMount, b: BoxMount): number {
  return a.path.split('/').length - b.path.split('/').length
}
