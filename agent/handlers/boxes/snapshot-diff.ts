import type { SnapshotDiff } from '../../core/boxes/snapshot-diff.ts'
import { tellPath } from '../../core/files/paths.ts'
import type { TreeChange } from '../../ports/pool/tree-changes.ts'
import type { Handlers } from '../common/call.ts'

/** What changed on the disks of boxes, over HTTP. */
export function createSnapshotDiffHandlers(diff: SnapshotDiff): Pick<Handlers, 'diffBoxSnapshot'> {
  return {
    diffBoxSnapshot: async ({ params, query }) => {
      const { changes, next } = await diff.compare(params, params.snapshot, query)
      return { body: { changes: changes.map(viewChange), has_more: next !== null, next_continuation_token: next } }
    },
  }
}

function viewChange({ kind, path, from, isModified, type, sizeBytes }: TreeChange) {
  const was = from === null ? null : tellPath(from)
  return {
    kind,
    ...tellPath(path),
    from: was?.path ?? null,
    from_base64: was?.path_base64 ?? null,
    modified: kind === 'renamed' && isModified,
    type,
    size_bytes: sizeBytes,
  }
}
