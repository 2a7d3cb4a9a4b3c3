import { searchTree } from './search.ts'

/** A subvolume as the tree of roots knows it. */
export interface SubvolumeRoot {
  id: number
  uuid: string
  /** Of what it was copied from; empty for one that was made empty. */
  parentUuid: string
  isReadOnly: boolean
  /** When something in it last changed, and when it was made. */
  changedAt: number
  madeAt: number
}

/** The subvolumes that are there, wherever they lie, in the order in which they were made. */
export function* readRoots(fd: number): Generator<void, SubvolumeRoot[]> {
  const roots: SubvolumeRoot[] = []
  const all = { treeId: ROOT_TREE, minGeneration: 0, maxGeneration: Number.MAX_SAFE_INTEGER }
  yield* searchTree(fd, all, ({ objectId, type, start, length }, buffer) => {
    if (type !== ROOT_ITEM_KEY || objectId < FIRST_ID || objectId > LAST_ID || length < ITEM_BYTES_MIN) return
    // Destroyed, and not yet cleared away.
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

/** What is known of a subvolume by where it comes from. */
export interface Origin {
  /** What lies in leaves up to this generation is also in `base`, which never changes; 0: nothing does. */
  floor: number
  base: SubvolumeRoot | null
}

/**
 * What each shares with another by where it comes from. A leaf that is older than a copy of a tree was in the tree when that was
 * made: it is in the copy, if that never changed, and in what the copy was made of, if that has not changed since. So one that
 * goes on changing has the latest of its copies for a base, a copy the one before it, and the first what it was copied from had
 * at its birth. A pure function.
 */
export function originsOf(roots: readonly SubvolumeRoot[]): Map<number, Origin> {
  const byUuid = new Map(roots.map((root) => [root.uuid, root]))
  const copies = Map.groupBy(roots.filter(isAsMade), ({ parentUuid }) => parentUuid)
  const births = new Map<number, Origin>()
  // One that was copied from another has a larger id.
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
      // One that it has not changed since comes from it, and not the other way round.
      const own = (copies.get(root.uuid) ?? []).filter((copy) => !hasNotChangedSince(root, copy))
      const copy = latestOf(own, Number.POSITIVE_INFINITY)
      return [root.id, copy !== null && copy.madeAt > birth.floor ? { floor: copy.madeAt, base: copy } : birth]
    }),
  )
}

function isAsMade({ isReadOnly, changedAt, madeAt }: SubvolumeRoot): boolean {
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
/** Of `btrfs_root_item`. */
const FLAGS_AT = 208
const REFS_AT = 216
const UUID_AT = 247
const PARENT_AT = 263
const CHANGED_AT = 295
const MADE_AT = 303
const ITEM_BYTES_MIN = 311
