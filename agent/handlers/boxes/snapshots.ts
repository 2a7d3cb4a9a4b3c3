import type { BoxRestore } from '../../core/boxes/restore.ts'
import type { BoxSnapshots } from '../../core/boxes/snapshots.ts'
import { SNAPSHOT_VERSION, type SnapshotState, viewSnapshot } from '../../core/snapshots/view.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { type BoxReplies, mutationOf } from './replies.ts'

type BoxSnapshotHandlers = Pick<
  Handlers,
  'createBoxSnapshot' | 'listBoxSnapshots' | 'getBoxSnapshot' | 'deleteBoxSnapshot' | 'restoreBox'
>

/** Checkpoints of boxes over HTTP. */
export function createBoxSnapshotHandlers(deps: {
  snapshots: BoxSnapshots
  restore: BoxRestore
  replies: BoxReplies
}): BoxSnapshotHandlers {
  const { snapshots, restore, replies } = deps
  const reply = (state: SnapshotState): Reply => ({ body: viewSnapshot(state), version: SNAPSHOT_VERSION })
  return {
    createBoxSnapshot: async ({ params, query, body, caller, ...given }) => {
      const how = mutationOf(query, given)
      const record = await snapshots.create(caller, { ref: params, body }, how)
      const location = `/v1/projects/${params.project}/boxes/${params.name}/snapshots/${record.name}`
      return { ...reply({ record, uniqueBytes: null }), headers: { location } }
    },
    listBoxSnapshots: async ({ params, query }) => {
      const { records, next } = await snapshots.list(params, query)
      const views = records.map((record) => viewSnapshot({ record, uniqueBytes: null }))
      return { body: { snapshots: views, has_more: next !== null, next_continuation_token: next } }
    },
    getBoxSnapshot: async ({ params }) => reply(await snapshots.get(params, params.snapshot)),
    deleteBoxSnapshot: async ({ params, ifMatch }) => {
      await snapshots.remove(params, params.snapshot, { ifMatch })
      return { body: null }
    },
    restoreBox: async ({ params, query, body, caller, ...given }) => {
      const how = mutationOf(query, given)
      const restored = await restore.restore(params, body, how)
      return replies.reply(caller, restored, { kind: 'box.restore', status: 202 })
    },
  }
}
