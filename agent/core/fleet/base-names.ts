import { ServiceError } from '../../../shared/errors.ts'
import type { BaseClaim } from '../../ports/fleet/bases.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { NamedBase } from '../../ports/store/tombstones.ts'
import { digestOf } from '../common/digest.ts'

/** Returns the name of a base with its id, for its tombstone: who destroys what it had gives up the name as well. */
export function baseHomeOf({ id, project, name }: Pick<BaseRecord, 'id' | 'project' | 'name'>): NamedBase {
  return { kind: 'base', project, name, uid: id }
}

/** Returns what the name of a base is claimed with. */
export function baseClaimOf(
  record: Pick<BaseRecord, 'id' | 'project' | 'name' | 'version' | 'source' | 'createdAt' | 'createdBy'>,
): BaseClaim {
  const { id, project, name, version, source, createdAt, createdBy } = record
  return { uid: id, project, name, version, source, createdAt, createdBy: requestDigestOf(createdBy) }
}

/** Returns the digest of the request that makes something, by which a repeat of it is known; null if it has no key. */
export function requestDigestOf(createdBy: BaseRecord['createdBy']): string | null {
  const key = createdBy?.idempotencyKey ?? null
  return key === null ? null : digestOf(`${createdBy?.token}\n${key}`)
}

/**
 * Claims the names of all bases that were made at this cell and that the directory does not know, as after a backup of it was restored;
 * those that it has built by its settings are its own alone. Calls `onConflict` for each whose name another has by now.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be written; what was claimed stays so
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
      // Deleted meanwhile, it may have given up its name before the claim.
      if ((await store.bases.get(record.project, record.name))?.id !== record.id) await bases.release(home, home.uid)
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'name_taken')) throw error
      onConflict(home, 'another base has its name')
    }
  }
}
