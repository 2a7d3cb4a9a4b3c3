import type { PulledFlow } from '../../../shared/pulled-flow.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { FileEntry, FilePath } from '../../ports/files/files.ts'
import { factsOf, type ListedStat } from './facts.ts'
import type { RawPath } from './paths.ts'

/** A batch of entries as it crosses threads. Cloning them as objects would take as long as reading them. */
export interface EntryColumns {
  paths: RawPath[]
  /** The stat of each, `FIELDS` numbers. */
  numbers: Float64Array<ArrayBuffer>
  /** The texts of links, by index in `paths`. */
  targets: Map<number, Uint8Array>
  /** The host id of the box's id 0. */
  idBase: number
}

/** The last batch of a page. */
export interface LastColumns extends EntryColumns {
  isMore: boolean
}

/** The path of an entry, and the text of a link. */
export interface ListedNames {
  path: RawPath
  target: Uint8Array | null
}

export function newColumns(idBase: number): EntryColumns {
  return { paths: [], numbers: new Float64Array(ENTRIES_MAX * FIELDS), targets: new Map(), idBase }
}

export function isFull({ paths }: EntryColumns): boolean {
  return paths.length === ENTRIES_MAX
}

/** Adds an entry to a batch that is not full. */
export function addEntry(
  { paths, numbers, targets }: EntryColumns,
  stat: ListedStat,
  { path, target }: ListedNames,
): void {
  if (target !== null) targets.set(paths.length, target)
  let at = paths.push(path) * FIELDS - FIELDS
  numbers[at++] = stat.mode
  numbers[at++] = stat.uid
  numbers[at++] = stat.gid
  numbers[at++] = stat.inode
  numbers[at++] = stat.sizeBytes
  numbers[at++] = stat.modifiedSeconds
  numbers[at++] = stat.modifiedNanoseconds
  numbers[at++] = stat.changedSeconds
  numbers[at] = stat.changedNanoseconds
}

/** Builds the last batch of a page. */
export function lastColumns(columns: EntryColumns, isMore: boolean): LastColumns {
  return { ...columns, numbers: columns.numbers.slice(0, columns.paths.length * FIELDS), isMore }
}

/** Forwards the batches of a list task, each in a turn of `flow`. Resolves to the next cursor, null at the end. */
export async function takeEntries(
  channel: TaskChannel<LastColumns, EntryColumns, never>,
  { take, flow }: { take(entries: Iterable<FileEntry>): void; flow: PulledFlow },
): Promise<FilePath | null> {
  const takeInTurn = async (columns: EntryColumns): Promise<void> => {
    const turn = flow.take(columns.paths.length * ENTRY_BYTES)
    if (turn !== null) await turn
    take(entriesOf(columns))
  }
  try {
    for (let columns = await channel.receive(); columns !== null; columns = await channel.receive())
      await takeInTurn(columns)
    const last = await channel.result()
    await takeInTurn(last)
    const path = last.paths.at(-1)
    return last.isMore && path !== undefined ? Buffer.from(path, 'latin1') : null
  } finally {
    flow.close()
    await channel.end()
  }
}

function* entriesOf({ paths, numbers, targets, idBase }: EntryColumns): Generator<FileEntry> {
  for (let index = 0, at = 0; index < paths.length; index++) {
    const next = (): number => numbers[at++] as number
    const stat = {
      mode: next(),
      uid: next(),
      gid: next(),
      inode: next(),
      sizeBytes: next(),
      modifiedSeconds: next(),
      modifiedNanoseconds: next(),
      changedSeconds: next(),
      changedNanoseconds: next(),
    }
    yield { ...factsOf(stat, idBase, targets.get(index) ?? null), path: paths[index] as RawPath }
  }
}

const FIELDS = 9
/** Number of entries handled in a turn of the event loop. */
const ENTRIES_MAX = 250
/** An entry costs the event loop as much as this many bytes of a transfer. */
const ENTRY_BYTES = 1024
