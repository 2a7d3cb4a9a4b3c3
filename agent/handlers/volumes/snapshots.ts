import { SNAPSHOT_VERSION, type SnapshotState } from '../../core/snapshots/snapshots.ts'
import { restoreVolume } from '../../core/volumes/restore.ts'
import type { VolumeSnapshots } from '../../core/volumes/snapshots.ts'
import type { VolumeSwapDeps } from '../../core/volumes/swap.ts'
import type { Volumes } from '../../core/volumes/volumes.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { viewSnapshot } from '../snapshots/view.ts'
import { viewVolume } from './view.ts'

type VolumeSnapshotHandlers = Pick<
  Handlers,
  'createVolumeSnapshot' | 'listVolumeSnapshots' | 'getVolumeSnapshot' | 'deleteVolumeSnapshot' | 'restoreVolume'
>

/** Handles snapshots of data volumes, and restores. */
export function createVolumeSnapshotHandlers(
  deps: VolumeSwapDeps & { volumes: Volumes; volumeSnapshots: VolumeSnapshots },
): VolumeSnapshotHandlers {
  const { volumes, volumeSnapshots } = deps
  const reply = (state: SnapshotState): Reply => ({ body: viewSnapshot(state), version: SNAPSHOT_VERSION })
  return {
    createVolumeSnapshot: async ({ params, body, caller, idempotencyKey }) => {
      const state = await volumeSnapshots.create(caller, params, { body, idempotencyKey })
      const { project, owner, name } = state.record
      const location = `/v1/projects/${project}/data/${owner.name}/snapshots/${name}`
      return { ...reply(state), headers: { location } }
    },
    listVolumeSnapshots: async ({ params, query }) => {
      const { states, next } = await volumeSnapshots.list(params, query)
      return { body: { snapshots: states.map(viewSnapshot), has_more: next !== null, next_continuation_token: next } }
    },
    getVolumeSnapshot: async ({ params }) => reply(await volumeSnapshots.get(params, params.snapshot)),
    deleteVolumeSnapshot: async ({ params, ifMatch }) => {
      await volumeSnapshots.remove(params, params.snapshot, ifMatch)
      return { body: null }
    },
    restoreVolume: async ({ params, query, body, caller, ifMatch }) => {
      const request = { ...body, waitMs: query.wait_seconds * 1000, ifMatch, tokenId: caller.tokenId }
      await restoreVolume(deps, params, request)
      const state = await volumes.get(params)
      return { body: viewVolume(state), version: state.record.version }
    },
  }
}
