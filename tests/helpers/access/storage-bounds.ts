import type { StorageBounds } from '../../../agent/core/common/storage-bounds.ts'

/** Bounds nothing. */
export const UNBOUNDED: Pick<StorageBounds, 'apply' | 'checkRoom' | 'explaining'> = {
  apply: async () => undefined,
  checkRoom: async () => undefined,
  explaining: (_project, work) => work(),
}
