import { ServiceError } from '../../../shared/errors.ts'
import type { BoxConfig } from '../../../shared/schemas/boxes.ts'
import type { BoxLimits, BoxShares } from '../../ports/boxes/limits.ts'
import type { BoxMount, BoxSpec } from '../../ports/boxes/runtime.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import { shortDigestOf } from '../common/digest.ts'
import { environmentOf } from '../common/environment.ts'
import { checkNesting } from '../common/nesting.ts'

/** Bounds of boxes that their specs have. The shares are the most that a box may have. */
export interface SpecLimits extends BoxShares {
  pidsPerBox: number
  /** Whether boxes may have `config.nesting`. */
  allowsNesting: boolean
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
    ...limitsOf(record, limits),
    pidsMax: limits.pidsPerBox,
    environment: environmentOf(record),
    graceSeconds: record.gracePeriodSeconds,
    nesting: record.config.nesting,
    isNew: record.observed.hasRun === false,
    // Versions without this field mounted other files over these.
    writesNames: record.observed.hasRun !== true,
    mounts: boxMountsOf(record, filesystem),
  }
}

/**
 * Returns the limits of a box that its runtime sets, and changes while it runs. No box gets more of network and disk than `most`, also if
 * its record is of a time when it might have more.
 */
export function limitsOf({ config }: Pick<BoxRecord, 'config'>, most: BoxShares): BoxLimits {
  const { cpus, ram_mb: ramMb, shm_mb: shmMb } = config
  const { networkMbps, diskMbps, diskIops } = sharesOf(config)
  return {
    cpus,
    ramMb,
    // More than its memory would end what writes there instead of refusing it.
    shmMb: Math.min(shmMb ?? Math.floor(ramMb / 2), ramMb),
    networkMbps: lesser(networkMbps, most.networkMbps),
    diskMbps: lesser(diskMbps, most.diskMbps),
    diskIops: lesser(diskIops, most.diskIops),
  }
}

/** Returns the shares of a configuration. */
export function sharesOf(config: BoxConfig): BoxShares {
  return { networkMbps: config.network_mbps, diskMbps: config.disk_mbps, diskIops: config.disk_iops }
}

function lesser(value: number | null, most: number | null): number | null {
  return most === null ? value : Math.min(value ?? most, most)
}

/** Returns the data volumes of a box as the runtime mounts them, those nearer to `/` first. */
export function boxMountsOf({ mounts }: Pick<BoxRecord, 'mounts'>, filesystem: CowFilesystem): BoxMount[] {
  return mounts.map((mount) => boxMountOf(mount, filesystem)).toSorted(byDepth)
}

/** Returns a data volume as the runtime mounts it. */
export function boxMountOf({ subvolume, path, readOnly }: MountRecord, filesystem: CowFilesystem): BoxMount {
  return { source: filesystem.path(subvolume), path, readOnly }
}

/** Awaits a change of a running box. Ignores that the box has ended, since its next start makes the change. */
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
