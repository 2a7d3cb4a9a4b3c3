import { newId } from '../../../shared/ids.ts'
import type { SnapshotDiffQuery } from '../../../shared/schemas/snapshots.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type {
  ChangeCursor,
  ChangeKind,
  ChangesPage,
  ChangesRequest,
  TreeChange,
} from '../../ports/pool/tree-changes.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { readBox } from '../common/lookup.ts'
import { decodePathCursor, encodePathCursor, foreignCursor } from '../common/paging.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { findBoxSnapshot } from '../snapshots/snapshots.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import type { Boxes, BoxRef } from './boxes.ts'

export interface SnapshotDiffDeps {
  store: Store
  filesystem: CowFilesystem
  reconciler: Pick<Reconciler, 'scheduleDestroy'>
  clock: Clock
  boxes: Pick<Boxes, 'get'>
}

/** Compares states of a box's disk. */
export interface SnapshotDiff {
  /**
   * Pages through the changes from a snapshot to another, or to the current disk.
   * @throws ServiceError `box_not_found`, `snapshot_not_found`, `path_invalid`, `body_too_large` beyond a million changes
   */
  compare(
    ref: BoxRef,
    snapshot: string,
    query: SnapshotDiffQuery,
  ): Promise<{ changes: readonly TreeChange[]; next: string | null }>
}

export function createSnapshotDiff(deps: SnapshotDiffDeps): SnapshotDiff {
  const { store, filesystem, boxes } = deps
  return {
    compare: async (ref, snapshot, query) => {
      const box = await boxes.get(ref)
      const find = async (name: string): Promise<string> => (await findBoxSnapshot(store, box, name)).subvolume
      const after = cursorOf(query.continuation_token)
      const request = { from: await find(snapshot), after, limit: query.max_results, share: box.project }
      const isLive = query.to === LIVE
      try {
        const page = isLive
          ? await withLive(deps, box, (to) => filesystem.changes({ ...request, to, keep: false }))
          : await between(filesystem, request, await find(query.to))
        return cutToSize(page)
      } catch (error) {
        // Reports a box or snapshot that was just deleted as not found, regardless of the pool's error.
        await readBox(store, box)
        for (const name of isLive ? [snapshot] : [snapshot, query.to]) await find(name)
        throw error
      }
    },
  }
}

async function between(
  filesystem: CowFilesystem,
  request: Omit<ChangesRequest, 'to' | 'keep'>,
  to: string,
): Promise<ChangesPage> {
  if (to === request.from) return { changes: [], hasMore: false }
  return filesystem.changes({ ...request, to, keep: true })
}

/** Runs `work` with a new snapshot of the disk of a box, and destroys the snapshot afterwards. */
async function withLive<T>(deps: SnapshotDiffDeps, box: BoxRecord, work: (name: string) => Promise<T>): Promise<T> {
  const { store, filesystem, reconciler, clock } = deps
  const now = clock.now()
  const name = `tmp_${newId('snp', now).slice(4)}`
  const tombstone = { id: name, root: name, createdAt: now }
  await filesystem.checkWritable()
  await store.tombstones.insert(tombstone)
  try {
    await copyTree(filesystem, async () => (await readBox(store, box)).root, {
      name,
      project: box.project,
      isReadOnly: true,
      quotaBytes: null,
    })
    return await work(name)
  } finally {
    reconciler.scheduleDestroy(tombstone)
  }
}

/** Cuts a page to the `PATH_BYTES_MAX` bytes of paths that one answer carries. */
function cutToSize({ changes, hasMore }: ChangesPage): { changes: readonly TreeChange[]; next: string | null } {
  let [count, bytes] = [0, 0]
  for (const { path, from } of changes) {
    bytes += path.length + (from?.length ?? 0)
    if (bytes > PATH_BYTES_MAX && count > 0) break
    count++
  }
  const last = changes[count - 1]
  const isMore = hasMore || count < changes.length
  return { changes: changes.slice(0, count), next: isMore && last ? tokenOf(last) : null }
}

function tokenOf({ kind, path }: TreeChange): string {
  return encodePathCursor(path, kind)
}

function cursorOf(token: string | undefined): ChangeCursor | null {
  const cursor = decodePathCursor(token)
  if (cursor === null) return null
  if (isKind(cursor.word)) return { kind: cursor.word, path: cursor.path }
  throw foreignCursor()
}

function isKind(text: string): text is ChangeKind {
  return KINDS.has(text)
}

const KINDS: ReadonlySet<string> = new Set<ChangeKind>(['added', 'modified', 'deleted', 'renamed'])
const LIVE = 'live'
// An answer carries a path twice if it is not valid text, and escaped. That is about six times as many bytes.
const PATH_BYTES_MAX = 512 * 1024
