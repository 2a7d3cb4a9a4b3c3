import { searchTree } from './search.ts'

/** A subvolume, from its item in the root tree. */
export interface SubvolumeRoot {
  id: number
  uuid: string
  /** UUID of the subvolume that it is a copy of. Empty if it was created empty. */
  parentUuid: string
  isReadOnly: boolean
  /** Transaction ids of its last change and of its creation. */
  changedAt: number
  madeAt: number
}

/** Reads all subvolumes of the filesystem, nested ones included, in the order of their creation. */
export function* readRoots(fd: number): Generator<void, SubvolumeRoot[]> {
  const roots: SubvolumeRoot[] = []
  const all = { treeId: ROOT_TREE, minGeneration: 0, maxGeneration: Number.MAX_SAFE_INTEGER }
  yield* searchTree(fd, all, ({ objectId, type, start, length }, buffer) => {
    if (type !== ROOT_ITEM_KEY || objectId < FIRST_ID || objectId > LAST_ID || length < ITEM_BYTES_MIN) return
    // Destroyed, but not cleaned up by the kernel yet.
    if (buffer.readUInt32LE(start + REFS_AT) === 0) return
    roots.push({
      id: objectId,
      uuid: buffer.toString('hex', start + UUID_AT, start + UUID_AT + 16),
      parentUuid: buffer.toString('hex', start + PARENT_AT, start + PARENT_AT + 16).replace(/^0+$/, ''),
      isReadOnly: (buffer.readUInt32LE(start + FLAGS_AT) & READ_ONLY) !== 0,
      changedAt: Number(buffer.readBigUInt64LE(start + CHANGED_AT)),
      madeAt: Number(buffer.readBigUInt64LE(start + MADE_AT)),
    })
  })
  return roots
}

/** Returns true while the kernel still frees the space of destroyed subvolumes. */
export function* hasDestroyedRoots(fd: number): Generator<void, boolean> {
  let isAny = false
  const all = { treeId: ROOT_TREE, minGeneration: 0, maxGeneration: Number.MAX_SAFE_INTEGER }
  yield* searchTree(fd, all, ({ objectId, type, start, length }, buffer) => {
    if (type !== ROOT_ITEM_KEY || objectId < FIRST_ID || objectId > LAST_ID || length < ITEM_BYTES_MIN) return
    isAny ||= buffer.readUInt32LE(start + REFS_AT) === 0
  })
  return isAny
}

/** The part of a subvolume that is known to be shared, from its ancestry. */
export interface Origin {
  /** Extents in leaves up to this generation are also in `base`, which never changes. 0 for none. */
  floor: number
  base: SubvolumeRoot | null
}

/**
 * Derives from the ancestry of each subvolume what it shares with another. A leaf older than a copy was in the source at the time of the
 * copy. It is still in the copy if the copy never changed, and in the source if the source has not changed since.
 *
 * So a subvolume that keeps changing has its latest copy as base. A copy has the previous copy as base. The first copy has the base that
 * its source had when the source was created. Pure.
 */
export function originsOf(roots: readonly SubvolumeRoot[]): Map<number, Origin> {
  const byUuid = new Map(roots.map((root) => [root.uuid, root]))
  const copies = Map.groupBy(roots.filter(isPristine), ({ parentUuid }) => parentUuid)
  const births = new Map<number, Origin>()
  // A copy has a larger id than its source.
  for (const root of [...roots].sort((a, b) => a.id - b.id)) {
    const parent = byUuid.get(root.parentUuid)
    const sibling = root.parentUuid === '' ? null : latestOf(copies.get(root.parentUuid), root.madeAt)
    if (parent !== undefined && hasNotChangedSince(parent, root))
      births.set(root.id, { floor: root.madeAt, base: parent })
    else if (sibling !== null) births.set(root.id, { floor: sibling.madeAt, base: sibling })
    else births.set(root.id, (parent && births.get(parent.id)) ?? NO_ORIGIN)
  }
  return new Map(
    roots.map((root) => {
      const birth = births.get(root.id) ?? NO_ORIGIN
      // A copy that `root` has not changed since has `root` as base, and not the other way round.
      const own = (copies.get(root.uuid) ?? []).filter((copy) => !hasNotChangedSince(root, copy))
      const copy = latestOf(own, Number.POSITIVE_INFINITY)
      return [root.id, copy !== null && copy.madeAt > birth.floor ? { floor: copy.madeAt, base: copy } : birth]
    }),
  )
}

function isPristine({ isReadOnly, changedAt, madeAt }: SubvolumeRoot): boolean {
  return isReadOnly && changedAt <= madeAt
}

function hasNotChangedSince(root: SubvolumeRoot, copy: SubvolumeRoot): boolean {
  return root.isReadOnly && root.changedAt <= copy.madeAt
}

function latestOf(copies: readonly SubvolumeRoot[] | undefined, before: number): SubvolumeRoot | null {
  let latest: SubvolumeRoot | null = null
  for (const copy of copies ?? [])
    if (copy.madeAt < before && (latest === null || copy.madeAt > latest.madeAt)) latest = copy
  return latest
}

const NO_ORIGIN: Origin = { floor: 0, base: null }
const ROOT_TREE = 1
const ROOT_ITEM_KEY = 132
const FIRST_ID = 256
const LAST_ID = 2 ** 48
const READ_ONLY = 1
/** Offsets in `btrfs_root_item`. */
const FLAGS_AT = 208
const REFS_AT = 216
const UUID_AT = 247
const PARENT_AT = 263
const CHANGED_AT = 295
const MADE_AT = 303
const ITEM_BYTES_MIN = 311
