import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** What of a filesystem's tree is looked at. */
export interface TreeRange {
  treeId: number
  /** The generations of the leaves that are looked at; parts that have none of these are not even read. */
  minGeneration: number
  maxGeneration: number
}

/** An item of a tree; `start` and `length` are of its data, in the buffer that is lent. */
export interface TreeItem {
  /** Of the leaf it is in. */
  generation: number
  objectId: number
  type: number
  start: number
  length: number
}

/**
 * Reads the items of a tree, a buffer at a time: `visit` is called for each, and what it is lent is another by the next. Pauses
 * after each buffer, which takes about a millisecond. False if there is no such tree (any more).
 */
export function* searchTree(
  fd: number,
  range: TreeRange,
  visit: (item: TreeItem, buffer: Buffer) => void,
): Generator<void, boolean> {
  const [at, item] = [newKey(), { generation: 0, objectId: 0, type: 0, start: 0, length: 0 }]
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

/** `btrfs_ioctl_search_args_v2`: from a key on to the end of the tree. */
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

/** Below 2^53, as are generations, file numbers and places on a disk. */
function number64(at: number): number {
  return BUFFER.readUInt32LE(at) + BUFFER.readUInt32LE(at + 4) * 2 ** 32
}

const TREE_SEARCH_V2 = 0xc0709411
const DATA_AT = 112
const HEADER_BYTES = 32
const MAX_U64 = 2n ** 64n - 1n
const MAX_TYPE = 255
// A thread makes one call at a time, and uses what it tells before the next.
const BUFFER = Buffer.from(new ArrayBuffer(512 * 1024))
