import type { FileKind } from '../../ports/files/files.ts'
import type { ChangeCursor, ChangeKind, ChangesPage, TreeChange } from '../../ports/pool/tree-changes.ts'
import type { RawPath } from '../files/paths.ts'

/** Encoded changes, in their order, to pass between threads and to cache. Objects would take five times the memory. */
export interface ChangeRecords {
  /** Start of each record, and the end of the last. */
  offsets: Uint32Array<ArrayBuffer>
  bytes: Uint8Array<ArrayBuffer>
}

/** A change, with one character for each byte of its paths. */
export interface RawChange {
  kind: ChangeKind
  path: RawPath
  from: RawPath | null
  isModified: boolean
  type: FileKind
  sizeBytes: number
}

/** Encodes changes one after another, up to a number of bytes in all. */
export interface ChangeWriter {
  /** Adds a change. Returns false if there is no space for it. */
  add(change: RawChange): boolean
  finish(): ChangeRecords
}

/** Creates a writer of up to `count` changes and `limitBytes` bytes. */
export function createChangeWriter(count: number, limitBytes: number): ChangeWriter {
  let buffer = Buffer.from(new ArrayBuffer(FIRST_BYTES))
  const offsets = new Uint32Array(count + 1)
  let [index, at] = [0, 0]
  return {
    add: ({ kind, path, from, isModified, type, sizeBytes }) => {
      const next = at + HEAD_BYTES + path.length + (from?.length ?? 0)
      if (next > limitBytes) return false
      if (next > buffer.length) {
        const larger = Buffer.from(new ArrayBuffer(Math.max(next, buffer.length * 2)))
        buffer.copy(larger)
        buffer = larger
      }
      buffer[at] = CHANGE_KINDS.indexOf(kind)
      buffer[at + 1] = FILE_KINDS.indexOf(type)
      buffer[at + 2] = isModified ? 1 : 0
      buffer.writeDoubleLE(sizeBytes, at + 3)
      buffer.writeUInt16LE(path.length, at + 11)
      buffer.write(path, at + HEAD_BYTES, 'latin1')
      if (from !== null) buffer.write(from, at + HEAD_BYTES + path.length, 'latin1')
      offsets[++index] = next
      at = next
      return true
    },
    finish: () => ({ offsets: offsets.slice(0, index + 1), bytes: new Uint8Array(buffer.buffer.slice(0, at)) }),
  }
}

/** Returns the page after `after`, which need not be among the records. */
export function changesPageOf(records: ChangeRecords, after: ChangeCursor | null, limit: number): ChangesPage {
  const count = records.offsets.length - 1
  const first = after === null ? 0 : indexAfter(records, after)
  const end = Math.min(first + limit, count)
  const changes: TreeChange[] = []
  for (let index = first; index < end; index++) changes.push(recordAt(records, index))
  return { changes, hasMore: end < count }
}

/** Orders changes by path, then deleted before the others. */
export function compareChanges(a: RawChange | ChangeKey, b: RawChange | ChangeKey): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1
  return CHANGE_KINDS.indexOf(a.kind) - CHANGE_KINDS.indexOf(b.kind)
}

interface ChangeKey {
  kind: ChangeKind
  path: RawPath
}

function indexAfter(records: ChangeRecords, { path, kind }: ChangeCursor): number {
  let [low, high] = [0, records.offsets.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    const record = recordAt(records, middle)
    const order = Buffer.compare(record.path, path) || CHANGE_KINDS.indexOf(record.kind) - CHANGE_KINDS.indexOf(kind)
    if (order <= 0) low = middle + 1
    else high = middle
  }
  return low
}

function recordAt({ offsets, bytes }: ChangeRecords, index: number): TreeChange {
  const [start = 0, end = 0] = [offsets[index], offsets[index + 1]]
  const record = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
  const pathEnd = HEAD_BYTES + record.readUInt16LE(11)
  return {
    kind: CHANGE_KINDS[record.readUInt8(0)] ?? 'modified',
    path: record.subarray(HEAD_BYTES, pathEnd),
    from: pathEnd === record.length ? null : record.subarray(pathEnd),
    isModified: record.readUInt8(2) === 1,
    type: FILE_KINDS[record.readUInt8(1)] ?? 'file',
    sizeBytes: record.readDoubleLE(3),
  }
}

const FIRST_BYTES = 64 * 1024
const HEAD_BYTES = 13
const CHANGE_KINDS: readonly ChangeKind[] = ['deleted', 'added', 'modified', 'renamed']
const FILE_KINDS: readonly FileKind[] = ['file', 'directory', 'symlink', 'block', 'character', 'fifo', 'socket']
