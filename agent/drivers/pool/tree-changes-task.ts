import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { addressOf } from '../../lib/syscalls/libc.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import { kindOf } from '../files/facts.ts'
import type { RawPath } from '../files/paths.ts'
import { createEntryComparison } from './entry-comparison.ts'
import { createSendReader } from './send-stream.ts'
import { createTreeModel, type FoundChange } from './tree-changes.ts'
import { type ChangeRecords, compareChanges, createChangeWriter, type RawChange } from './tree-changes-records.ts'
import { createTreeReader, type TreeReader } from './tree-reader.ts'

/** Descriptors of the two trees. */
export interface ChangesArgument {
  fromFd: number
  toFd: number
}

/**
 * Receives the stream that turns one tree into the other, piece by piece and null at its end, and sends the differences. Fails
 * with `body_too_large` for more than `CHANGES_MAX` names.
 */
export function* changesTask(
  io: TaskIo<ChangeRecords, Uint8Array | null>,
  { fromFd, toFd }: ChangesArgument,
): Steps<void> {
  const model = createTreeModel(CHANGES_MAX)
  const reader = createSendReader((command) => model.apply(command))
  for (let piece = yield* io.receive(); piece !== null; piece = yield* io.receive()) {
    convertRangeError(() => reader.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)))
    if (io.mustPause()) yield 'turn'
  }
  reader.end()
  const found: FoundChange[] = []
  for (const change of model.changes()) {
    found.push(change)
    if (io.mustPause()) yield 'turn'
  }
  const trees = { earlier: createTreeReader(fromFd), later: createTreeReader(toFd), toFd }
  try {
    const changes = yield* describe(io, found, trees)
    const records = yield* encode(io, changes.sort(compareChanges))
    yield* io.send(records, [records.bytes.buffer, records.offsets.buffer])
  } finally {
    trees.earlier.close()
    trees.later.close()
  }
}

interface Trees {
  earlier: TreeReader
  later: TreeReader
  toFd: number
}

type Pausing = Pick<TaskIo, 'mustPause'>

function* describe(io: Pausing, found: FoundChange[], { earlier, later, toFd }: Trees): Steps<RawChange[]> {
  // Neighbours are mostly in one directory, which the tree reader keeps open.
  found.sort(compareChanges)
  const changes: RawChange[] = []
  const hardLinks = new HardLinks(toFd, found)
  const comparison = createEntryComparison({ earlier, later })
  for (const change of found) {
    const stat = (change.kind === 'deleted' ? earlier : later).stat(change.path)
    const type = kindOf(stat)
    const isSame = change.replaced !== null && (yield* comparison.isSame(io, change.replaced, change.path))
    const isModified = !isSame && (change.isModified || (type !== 'directory' && wasTouched(change, earlier)))
    const from = change.kind === 'renamed' ? change.from : null
    const described = { ...change, from, isModified, type, sizeBytes: stat.sizeBytes }
    if (isModified || change.kind !== 'modified') changes.push(described)
    if (isModified && type !== 'directory' && stat.links > 1)
      for (const path of hardLinks.unlisted(stat.inode))
        changes.push({ ...described, kind: 'modified', path, from: null })
    if (io.mustPause()) yield 'turn'
  }
  return changes
}

/** Finds the other hard links of modified files, because the stream mentions only one of each. */
class HardLinks {
  readonly #fd: number
  readonly #found: readonly FoundChange[]
  #listed: Set<RawPath> | null = null

  constructor(fd: number, found: readonly FoundChange[]) {
    this.#fd = fd
    this.#found = found
  }

  /** Returns the unlisted hard links of a file. */
  unlisted(inode: number): RawPath[] {
    this.#listed ??= new Set(this.#found.flatMap(({ kind, path }) => (kind === 'deleted' ? [] : [path])))
    const fresh = namesOfFile(this.#fd, inode).filter((name) => this.#listed?.has(name) !== true)
    for (const name of fresh) this.#listed.add(name)
    return fresh
  }
}

function* encode(io: Pausing, changes: readonly RawChange[]): Steps<ChangeRecords> {
  const writer = createChangeWriter(changes.length, RECORDS_BYTES_MAX)
  for (const change of changes) {
    if (!writer.add(change)) throw tooMany()
    if (io.mustPause()) yield 'turn'
  }
  return writer.finish()
}

// The stream sets the times of every file that it mentions, changed or not.
function wasTouched({ touched, from, path }: FoundChange, earlier: TreeReader): boolean {
  if (touched === null) return false
  const stat = earlier.stat(from ?? path)
  return stat.modifiedSeconds !== Number(touched.seconds) || stat.modifiedNanoseconds !== touched.nanoseconds
}

function convertRangeError(work: () => void): void {
  try {
    work()
  } catch (error) {
    throw error instanceof RangeError ? tooMany() : error
  }
}

function tooMany(): ServiceError {
  return refusal('body_too_large', [`The two differ by more than ${CHANGES_MAX} names.`, 'Compare nearer ones.'])
}

/** Returns the names of an inode in the subvolume that `fd` is open on, as absolute paths there, and as many as fit in 4 KB. */
function namesOfFile(fd: number, inode: number): RawPath[] {
  // `btrfs_ioctl_ino_path_args`, which points at a `btrfs_data_container`.
  const args = Buffer.alloc(ARGS_BYTES)
  args.writeBigUInt64LE(BigInt(inode), 0)
  args.writeBigUInt64LE(BigInt(NAMES.length), 8)
  args.writeBigUInt64LE(addressOf(NAMES), 48)
  controlBuffer(fd, INO_PATHS, args)
  const count = NAMES.readUInt32LE(8)
  return Array.from({ length: count }, (_, index) => {
    const start = VALUES_AT + Number(NAMES.readBigUInt64LE(VALUES_AT + index * 8))
    return `/${NAMES.toString('latin1', start, NAMES.indexOf(0, start))}`
  })
}

/** Maximum number of names, and of bytes of their encoded changes. */
const CHANGES_MAX = 1_000_000
const RECORDS_BYTES_MAX = 64 * 1024 ** 2
const INO_PATHS = 0xc0389423
const ARGS_BYTES = 128
const VALUES_AT = 16
// Reused, because a thread makes one call at a time and reads the result before the next.
const NAMES = Buffer.from(new ArrayBuffer(4096))
