import { createHash } from 'node:crypto'
import { ServiceError } from '../../shared/errors.ts'
import type { CowFilesystem } from '../ports/cow-filesystem.ts'
import type { BoxSpec } from '../ports/runtime.ts'
import type { BoxRecord } from '../ports/store.ts'

/**
 * Makes the root of a box that has none yet. A snapshot is atomic: a root that exists is whole, though the process
 * before us may have ended before it said so. A root that was there once is never made anew: the box would look well
 * and its data be gone.
 * @throws ServiceError `storage_full`, or `internal` for a root that is lost
 */
export async function ensureRoot(filesystem: CowFilesystem, record: BoxRecord): Promise<void> {
  if (await filesystem.exists(record.root)) return
  if (record.observed.hasRoot) throw new ServiceError('internal', "The box's root is missing from the pool.")
  const quotaBytes = Math.ceil(record.config.storage_gb * GIB)
  await filesystem.snapshot({ source: record.source, name: record.root, isReadOnly: false, quotaBytes })
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
    machineId: createHash('sha256').update(id).digest('hex').slice(0, 32),
    cpus: record.config.cpus,
    ramMb: record.config.ram_mb,
    pidsMax,
    environment: { BOX_ID: id, BOX_NAME: name, BOX_PROJECT: project, ...record.environment },
  }
}

const GIB = 1024 ** 3
