import type { Logger } from '../../../shared/log.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'

/** Counts what bases refer to, which does not change: once for each, one after another, while nobody waits for it. */
export interface BaseSizes {
  /** Counts one that has no size yet. */
  count(record: BaseRecord): void
  /** Counts those that have none: what an agent before this one did not come to. */
  countAll(): void
}

export function createBaseSizes(deps: { store: Store; filesystem: CowFilesystem; logger: Logger }): BaseSizes {
  const { store, filesystem, logger } = deps
  let tail: Promise<void> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): void => {
    // The next start tries again.
    tail = tail.then(work).catch((error: unknown) => logger.warn('a base was not counted', { error }))
  }
  const count: BaseSizes['count'] = ({ id, subvolume, sizeBytes }) => {
    if (sizeBytes !== null) return
    inTurn(async () => {
      const [usage] = await filesystem.measure([subvolume])
      if (usage) await store.bases.measure(id, usage.sizeBytes)
    })
  }
  return {
    count,
    countAll: () => inTurn(async () => (await store.bases.all()).forEach(count)),
  }
}
