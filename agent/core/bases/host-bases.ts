import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BaseBuilder } from '../../ports/bases/builder.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'

export interface HostBasesDeps {
  store: Store
  filesystem: CowFilesystem
  builder: BaseBuilder
  clock: Clock
  /** Reports progress to the operator, in lines marked `progress`. */
  notices: Logger
}

/**
 * Builds each base of `names` that this deployment does not have yet. The tombstone that each writes first destroys what a
 * crash leaves of it.
 * @throws Error for a name the builder does not know, with the names it does
 */
export async function ensureBases(names: readonly string[], deps: HostBasesDeps, signal: AbortSignal): Promise<void> {
  for (const name of names) {
    if (!(await deps.store.bases.get(null, name))) await buildBase(name, deps, signal)
  }
}

async function buildBase(name: string, deps: HostBasesDeps, signal: AbortSignal): Promise<void> {
  const { store, filesystem, builder, clock, notices } = deps
  if (!builder.names.includes(name)) {
    throw new Error(`There is no base "${name}". This host can build ${builder.names.join(' and ')}.`)
  }
  const createdAt = clock.now()
  const id = newId('bas', createdAt)
  const tombstone = { id, root: id, createdAt }
  await store.tombstones.insert(tombstone)
  await filesystem.create(id, null)
  const progress = (message: string): void => notices.info(message, { progress: true })
  await filesystem.withSoundWrites(async () => {
    await builder.build(name, filesystem.path(id), { progress, signal })
    await filesystem.setReadOnly(id, true)
  })
  const source = 'host'
  await store.bases.insert({
    id,
    project: null,
    name,
    sizeBytes: null,
    subvolume: id,
    createdAt,
    source,
    createdBy: null,
  })
}
