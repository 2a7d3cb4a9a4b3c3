import type { StorageBounds } from '../../../agent/core/common/storage-bounds.ts'

/** Storage bounds that limit nothing. */
export const NO_STORAGE_BOUNDS: Pick<StorageBounds, 'apply' | 'checkRoom' | 'explaining'> = {
  apply: async () => undefined,
  checkRoom: async () => undefined,
  explaining: (_project, work) => work(),
}
