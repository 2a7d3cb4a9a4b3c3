import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** The part of a filesystem's tree to search. */
export interface TreeRange {
  treeId: number
  /** Generations of the leaves to read. The kernel does not read subtrees older than the minimum. */
  minGeneration: number
  maxGeneration: number
}

/** An item of a tree. `start` and `length` locate its data in the buffer. */
export interface TreeItem {
  /** Generation of its leaf. */
  generation: number
  objectId: number
  type: number
  /** Exact below 2^53 only. */
  offset: number
  start: number
  length: number
}

/**
 * Reads the items of a tree, a buffer at a time, and calls `visit` for each. Reuses item and buffer for the next. Yields after each buffer,
 * which takes about a millisecond. Returns false if the tree does not exist (any more).
 */
export function* searchTree(
  fd: number,
  range: TreeRange,
  visit: (item: TreeItem, buffer: Buffer) => void,
): Generator<void, boolean> {
  const [at, item] = [newKey(), { generation: 0, objectId: 0, type: 0, offset: 0, start: 0, length: 0 }]
  for (;;) {
    encodeSearch(range, at)
    try {
      controlBuffer(fd, TREE_SEARCH_V2, BUFFER)
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false
      throw error
    }
    const count = BUFFER.readUInt32LE(64)
    if (count === 0) return true
    let start = DATA_AT
    for (let left = count; left > 0; left--) {
      item.generation = number64(start)
      item.objectId = number64(start + 8)
      item.offset = number64(start + 16)
      item.type = BUFFER.readUInt32LE(start + 24)
      item.length = BUFFER.readUInt32LE(start + 28)
      item.start = start + HEADER_BYTES
      if (left === 1) Object.assign(at, nextKey(start))
      visit(item, BUFFER)
      start = item.start + item.length
    }
    yield
  }
}

interface Key {
  objectId: bigint
  type: number
  offset: bigint
}

function newKey(): Key {
  return { objectId: 0n, type: 0, offset: 0n }
}

function nextKey(start: number): Key {
  const objectId = BUFFER.readBigUInt64LE(start + 8)
  const offset = BUFFER.readBigUInt64LE(start + 16)
  const type = BUFFER.readUInt32LE(start + 24)
  if (offset < MAX_U64) return { objectId, type, offset: offset + 1n }
  return type < MAX_TYPE ? { objectId, type: type + 1, offset: 0n } : { objectId: objectId + 1n, type: 0, offset: 0n }
}

/** Encodes `btrfs_ioctl_search_args_v2` from a key on to the end of the tree. */
function encodeSearch({ treeId, minGeneration, maxGeneration }: TreeRange, { objectId, type, offset }: Key): void {
  BUFFER.writeBigUInt64LE(BigInt(treeId), 0)
  BUFFER.writeBigUInt64LE(objectId, 8)
  BUFFER.writeBigUInt64LE(MAX_U64, 16)
  BUFFER.writeBigUInt64LE(offset, 24)
  BUFFER.writeBigUInt64LE(MAX_U64, 32)
  BUFFER.writeBigUInt64LE(BigInt(minGeneration), 40)
  BUFFER.writeBigUInt64LE(BigInt(maxGeneration), 48)
  BUFFER.writeUInt32LE(type, 56)
  BUFFER.writeUInt32LE(MAX_TYPE, 60)
  BUFFER.writeUInt32LE(0xffffffff, 64)
  BUFFER.writeBigUInt64LE(BigInt(BUFFER.length - DATA_AT), 104)
}

/** Reads a number below 2^53, as generations, inode numbers and disk addresses are. */
function number64(at: number): number {
  return BUFFER.readUInt32LE(at) + BUFFER.readUInt32LE(at + 4) * 2 ** 32
}

const TREE_SEARCH_V2 = 0xc0709411
const DATA_AT = 112
const HEADER_BYTES = 32
const MAX_U64 = 2n ** 64n - 1n
const MAX_TYPE = 255
// Reused, because a thread makes one call at a time and reads the result before the next.
const BUFFER = Buffer.from(new ArrayBuffer(512 * 1024))
