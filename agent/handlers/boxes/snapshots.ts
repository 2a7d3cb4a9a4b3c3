import type { BoxRestore } from '../../core/boxes/restore.ts'
import type { SnapshotDiff } from '../../core/boxes/snapshot-diff.ts'
import type { BoxSnapshots } from '../../core/boxes/snapshots.ts'
import { SNAPSHOT_VERSION, type SnapshotState } from '../../core/snapshots/snapshots.ts'
import type { TreeChange } from '../../ports/pool/tree-changes.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { formatPath } from '../files/paths.ts'
import { viewSnapshot } from '../snapshots/view.ts'
import { type BoxReplies, mutationOf } from './replies.ts'

type BoxSnapshotHandlers = Pick<
  Handlers,
  'createBoxSnapshot' | 'listBoxSnapshots' | 'getBoxSnapshot' | 'deleteBoxSnapshot' | 'diffBoxSnapshot' | 'restoreBox'
>

/** Handles snapshots of boxes, their differences, and restores. */
export function createBoxSnapshotHandlers(deps: {
  snapshots: BoxSnapshots
  diff: SnapshotDiff
  restore: BoxRestore
  replies: BoxReplies
}): BoxSnapshotHandlers {
  const { snapshots, diff, restore, replies } = deps
  const reply = (state: SnapshotState): Reply => ({ body: viewSnapshot(state), version: SNAPSHOT_VERSION })
  return {
    createBoxSnapshot: async ({ params, query, body, caller, ...given }) => {
      const options = mutationOf(query, given)
      const record = await snapshots.create(caller, { ref: params, body }, options)
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
    diffBoxSnapshot: async ({ params, query }) => {
      const { changes, next } = await diff.compare(params, params.snapshot, query)
      return { body: { changes: changes.map(viewChange), has_more: next !== null, next_continuation_token: next } }
    },
    restoreBox: async ({ params, query, body, caller, request, ...given }) => {
      const options = mutationOf(query, given)
      const restored = await restore.restore(params, body, options)
      return replies.reply(caller, restored, { kind: 'box.restore', status: 202, request })
    },
  }
}

function viewChange({ kind, path, from, isModified, type, sizeBytes }: TreeChange) {
  const was = from === null ? null : formatPath(from)
  return {
    kind,
    ...formatPath(path),
    from: was?.path ?? null,
    from_base64: was?.path_base64 ?? null,
    modified: kind === 'renamed' && isModified,
    type,
    size_bytes: sizeBytes,
  }
}
