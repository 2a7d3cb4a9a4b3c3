import { ServiceError } from '../../../shared/errors.ts'
import type { BaseClaim } from '../../ports/fleet/bases.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { NamedBase } from '../../ports/store/tombstones.ts'
import { digestOf } from '../common/digest.ts'

/** Returns the name of a base with its id, for its tombstone. The cell that destroys the data also gives up the name. */
export function baseHomeOf({ id, project, name }: Pick<BaseRecord, 'id' | 'project' | 'name'>): NamedBase {
  return { kind: 'base', project, name, uid: id }
}

/** Returns the claim for the name of a base. */
export function baseClaimOf(
  record: Pick<BaseRecord, 'id' | 'project' | 'name' | 'version' | 'source' | 'createdAt' | 'createdBy'>,
): BaseClaim {
  const { id, project, name, version, source, createdAt, createdBy } = record
  return { uid: id, project, name, version, source, createdAt, createdBy: requestDigestOf(createdBy) }
}

/** Returns the digest of a create request, which identifies its repeats. Null if it has no key. */
export function requestDigestOf(createdBy: BaseRecord['createdBy']): string | null {
  const key = createdBy?.idempotencyKey ?? null
  return key === null ? null : digestOf(`${createdBy?.token}\n${key}`)
}

/**
 * Claims the names of all bases of this cell that the directory lacks, for example after a restore of its backup. Bases that the agent
 * builds by its settings stay local. Calls `onConflict` for each base whose name another cell has now.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be written. Earlier claims stay.
 */
export async function publishBases(
  { store, directory: { bases } }: { store: Pick<Store, 'bases'>; directory: Pick<Directory, 'bases'> },
  onConflict: (home: NamedBase, problem: string) => void,
): Promise<void> {
  for (const record of await store.bases.all()) {
    if (record.cell !== undefined || record.createdBy === null || bases.find(record)?.uid === record.id) continue
    const home = baseHomeOf(record)
    try {
      await bases.claim(baseClaimOf(record))
      // A base deleted at the same time may have given up its name before the claim.
      if ((await store.bases.get(record.project, record.name))?.id !== record.id) await bases.release(home, home.uid)
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'name_taken')) throw error
      onConflict(home, 'another base has its name')
    }
  }
}
