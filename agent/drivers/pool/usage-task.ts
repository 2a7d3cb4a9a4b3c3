import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import { createExtentTable, type ExtentTable, hashOf } from './extent-table.ts'
import { type Origin, originsOf, readRoots, type SubvolumeRoot } from './roots.ts'
import { searchTree, type TreeItem } from './search.ts'

/** The subvolumes to measure. `knownBytes` is a size from an earlier measurement, or null. */
export interface UsageArgument {
  fd: number
  targets: readonly { id: number; knownBytes: number | null }[]
}

/** Measured usage of a subvolume. */
export interface MeasuredUsage {
  sizeBytes: number
  uniqueBytes: number
  isReadOnly: boolean
}

/**
 * Counts the data extents of subvolumes, and the ones that no other subvolume of the filesystem has. Returns null for a subvolume that is
 * gone. Skips extents shared with the base, as far as the ages of the leaves show it. If there are more extents than the table holds, works
 * in several rounds, each for a part of them.
 */
export function* usageTask(io: TaskIo, argument: UsageArgument): Steps<(MeasuredUsage | null)[]> {
  for (let rounds = 1; ; rounds *= 2) {
    try {
      return yield* inRounds(io, argument, rounds)
    } catch (error) {
      if (!(error instanceof RangeError) || rounds >= ROUNDS_MAX) throw error
    }
  }
}

function* inRounds(io: TaskIo, argument: UsageArgument, rounds: number): Steps<(MeasuredUsage | null)[]> {
  let sums: (MeasuredUsage | null)[] = []
  for (let round = 0; round < rounds; round++) {
    const part = yield* measurePart(io, argument, (address) => rounds === 1 || hashOf(address) % rounds === round)
    sums = part.map((usage, index) => addUsage(sums[index], usage))
  }
  return argument.targets.map(({ knownBytes }, index) => {
    const sum = sums[index]
    return sum ? { ...sum, sizeBytes: knownBytes ?? sum.sizeBytes } : null
  })
}

// A subvolume that is gone in one of the rounds counts as gone.
function addUsage(sum: MeasuredUsage | null | undefined, part: MeasuredUsage | null): MeasuredUsage | null {
  if (sum === undefined || part === null || sum === null) return sum === null ? null : part
  const { sizeBytes, uniqueBytes } = sum
  return { ...part, sizeBytes: part.sizeBytes + sizeBytes, uniqueBytes: part.uniqueBytes + uniqueBytes }
}

interface Survey {
  io: TaskIo
  fd: number
  origins: ReadonlyMap<number, Origin>
  table: ExtentTable
  isWanted(address: number): boolean
}

function* measurePart(
  io: TaskIo,
  { fd, targets }: UsageArgument,
  isWanted: (address: number) => boolean,
): Steps<(MeasuredUsage | null)[]> {
  const roots = yield* readingRoots(io, fd)
  const table = createExtentTable(EXTENTS_MAX, targets.length)
  const survey: Survey = { io, fd, origins: originsOf(roots), table, isWanted }
  const isThere = new Map<number, SubvolumeRoot>(roots.map((root) => [root.id, root]))
  let oldest = Number.POSITIVE_INFINITY
  for (const [index, { id, knownBytes }] of targets.entries()) {
    const found = yield* readTarget(survey, { id, index, isWhole: knownBytes === null })
    if (found === null) isThere.delete(id)
    else oldest = Math.min(oldest, found)
  }
  const owners = new Map(targets.map(({ id }, index) => [id, index]))
  for (const { id } of roots) if (!owners.has(id)) yield* readOther(survey, id, oldest)
  for (const [index, { id }] of targets.entries()) yield* readCopies(survey, { id, index, roots, targets })
  return targets.map(({ id }, index) => {
    const root = isThere.get(id)
    const { bytes, uniqueBytes } = table.of(index)
    return root ? { sizeBytes: bytes, uniqueBytes, isReadOnly: root.isReadOnly } : null
  })
}

function* readingRoots(io: TaskIo, fd: number): Steps<SubvolumeRoot[]> {
  const reading = readRoots(fd)
  for (let step = reading.next(); ; step = reading.next()) {
    if (step.done === true) return step.value
    if (io.mustPause()) yield 'turn'
  }
}

interface Target {
  id: number
  index: number
  /** If true, also reads the part that it shares with its base, which its size includes. */
  isWhole: boolean
}

/** Returns the generation of the oldest extent that its base does not have, or null if it is gone. */
function* readTarget(survey: Survey, { id, index, isWhole }: Target): Steps<number | null> {
  const { table, origins } = survey
  const floor = origins.get(id)?.floor ?? 0
  let oldest = Number.POSITIVE_INFINITY
  const range = { treeId: id, minGeneration: isWhole ? 0 : floor + 1, maxGeneration: Number.MAX_SAFE_INTEGER }
  const isThere = yield* readExtents(survey, range, ({ address, bytes, madeAt, generation }) => {
    if (generation <= floor) return table.addShared(address, bytes, index)
    table.add(address, bytes, index)
    oldest = Math.min(oldest, madeAt)
  })
  return isThere && origins.has(id) ? oldest : null
}

/** Marks the extents of another subvolume that its base does not have. A leaf is never older than the extents it refers to. */
function* readOther(survey: Survey, id: number, oldest: number): Steps<void> {
  const floor = survey.origins.get(id)?.floor ?? 0
  if (survey.table.uniqueCount(null) === 0) return
  const range = { treeId: id, minGeneration: Math.max(floor + 1, oldest), maxGeneration: Number.MAX_SAFE_INTEGER }
  yield* readExtents(survey, range, ({ address }) => void survey.table.share(address))
}

interface Copied {
  id: number
  index: number
  roots: readonly SubvolumeRoot[]
  targets: UsageArgument['targets']
}

/**
 * Marks the extents that subvolumes with this base still share with it, until the base has none of its own. Copies of these subvolumes
 * share no other extents of the base.
 */
function* readCopies(survey: Survey, { id, index, roots, targets }: Copied): Steps<void> {
  const { origins, table } = survey
  const floor = origins.get(id)?.floor ?? 0
  const whole = new Set(targets.filter(({ knownBytes }) => knownBytes === null).map((target) => target.id))
  for (const copy of roots) {
    if (table.uniqueCount(index) === 0) return
    const origin = origins.get(copy.id)
    if (origin?.base?.id !== id || whole.has(copy.id)) continue
    const range = { treeId: copy.id, minGeneration: floor + 1, maxGeneration: origin.floor }
    yield* readExtents(survey, range, ({ address }) => void table.share(address))
  }
}

interface Extent {
  address: number
  bytes: number
  /** Generation in which the extent was written. */
  madeAt: number
  /** Generation of its leaf. */
  generation: number
}

function* readExtents(
  { io, fd, isWanted }: Survey,
  range: Parameters<typeof searchTree>[1],
  take: (extent: Extent) => void,
): Steps<boolean> {
  const reading = searchTree(fd, range, ({ type, generation, start, length }: TreeItem, buffer) => {
    // An inline extent has the data itself instead of an address. The address of a hole is 0.
    if (type !== EXTENT_DATA_KEY || length < EXTENT_BYTES || buffer[start + 20] === INLINE) return
    const address = number64(buffer, start + 21)
    if (address === 0 || !isWanted(address)) return
    take({ address, bytes: number64(buffer, start + 29), madeAt: number64(buffer, start), generation })
  })
  for (let step = reading.next(); ; step = reading.next()) {
    if (step.done === true) return step.value
    if (io.mustPause()) yield 'turn'
  }
}

function number64(buffer: Buffer, at: number): number {
  return buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) * 2 ** 32
}

const EXTENT_DATA_KEY = 108
/** Size of `btrfs_file_extent_item`. */
const EXTENT_BYTES = 53
const INLINE = 0
/** 2 million extents, whose table takes 84 MB. */
const EXTENTS_MAX = 2 ** 21
const ROUNDS_MAX = 64
