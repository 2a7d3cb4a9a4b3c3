import type { Logger } from '../../../shared/log.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'

/** Measures the bytes each base refers to, which never change: once per base, one at a time, in the background. */
export interface BaseSizes {
  /** Measures one that has no size yet. */
  count(record: BaseRecord): void
  /** Measures all that have none, which an earlier agent did not reach. */
  countAll(): void
}

export function createBaseSizes(deps: { store: Store; filesystem: CowFilesystem; logger: Logger }): BaseSizes {
  const { store, filesystem, logger } = deps
  let tail: Promise<void> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): void => {
    // The next start tries again.
    tail = tail.then(work).catch((error: unknown) => logger.warn('failed to measure a base', { error }))
  }
  const count: BaseSizes['count'] = ({ id, project, subvolume, sizeBytes }) => {
    if (sizeBytes !== null) return
    inTurn(async () => {
      const [usage] = await filesystem.measure([subvolume], project ?? '')
      if (usage) await store.bases.measure(id, usage.sizeBytes)
    })
  }
  return {
    count,
    countAll: () => inTurn(async () => (await store.bases.all()).forEach(count)),
  }
}
