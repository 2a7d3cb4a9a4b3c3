import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { FREE_POOL, refusal } from '../../../shared/refusals.ts'
import type { BaseName, FleetBase } from '../../ports/fleet/bases.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { discardUncommitted } from '../common/create-record.ts'

export interface BaseCopiesDeps {
  store: Store
  filesystem: CowFilesystem
  directory: Directory
  /** Destroys a subvolume that has no record. */
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
}

/** The bases of this cell, and copies of those that other cells have made. */
export interface BaseCopies {
  /**
   * Returns the base that a name stands for in a project: its own, or else a shared one; null if there is none. Brings it here from the
   * cell that made it if this cell has no copy; those who ask meanwhile wait for the same one.
   * @throws ServiceError `agent_unavailable` if that cell cannot be reached or its base does not come whole, `storage_full`,
   * `runtime_unavailable` if the directory cannot be read
   */
  find(project: string, name: string): Promise<BaseRecord | null>
}

export function createBaseCopies(deps: BaseCopiesDeps): BaseCopies {
  const { store, directory } = deps
  const { bases } = directory
  const coming = new Map<string, Promise<BaseRecord | null>>()
  const bring = (known: FleetBase): Promise<BaseRecord | null> => {
    const running = coming.get(known.uid) ?? fetchBase(deps, known).finally(() => coming.delete(known.uid))
    coming.set(known.uid, running)
    return running
  }
  const present = async (ref: BaseName): Promise<BaseRecord | null> => {
    const record = await store.bases.get(ref.project, ref.name)
    if (record !== null && record.cell === undefined) return record
    // What memory does not know may have been made a moment ago, or memory has just begun.
    const known = bases.find(ref) ?? (record === null ? null : await bases.read(ref))
    if (record !== null && record.id === known?.uid) return record
    if (record !== null) await dropCopy(deps, record)
    return known === null || known.cell === directory.cell ? null : bring(known)
  }
  return {
    find: async (project, name) => {
      const places: BaseName[] = [
        { project, name },
        { project: null, name },
      ]
      for (const ref of places) {
        const record = await present(ref)
        if (record !== null) return record
      }
      for (const ref of places) {
        const known = await bases.read(ref)
        const record = known === null || known.cell === directory.cell ? null : await bring(known)
        if (record !== null) return record
      }
      return null
    },
  }
}

/**
 * Deletes the copies of bases that are no more, or that are another's by now.
 * @throws ServiceError `runtime_unavailable` if the directory cannot be read; what was deleted stays so
 */
export async function dropStaleCopies(deps: Omit<BaseCopiesDeps, 'filesystem'>): Promise<void> {
  const { store, directory } = deps
  for (const record of await store.bases.all()) {
    if (record.cell === undefined || directory.bases.find(record)?.uid === record.id) continue
    if ((await directory.bases.read(record))?.uid !== record.id) await dropCopy(deps, record)
  }
}

/** Deletes the copy of a base that had a name which this cell has by now. */
export async function dropCopyOf(
  deps: Pick<BaseCopiesDeps, 'store' | 'reconciler' | 'clock'>,
  { project, name }: BaseName,
): Promise<void> {
  const record = await deps.store.bases.get(project, name)
  if (record?.cell !== undefined) await dropCopy(deps, record)
}

async function dropCopy(
  { store, reconciler, clock }: Pick<BaseCopiesDeps, 'store' | 'reconciler' | 'clock'>,
  { id, subvolume }: BaseRecord,
): Promise<void> {
  const tombstone = { id: subvolume, root: subvolume, createdAt: clock.now() }
  if (await store.bases.remove(id, tombstone)) reconciler.scheduleDestroy(tombstone)
}

/** Brings a base here, under tombstones: a fault leaves no more than these. Null: its cell has not got it. */
async function fetchBase(deps: BaseCopiesDeps, known: FleetBase): Promise<BaseRecord | null> {
  // It may have come while the caller asked who has it.
  const present = await deps.store.bases.get(known.project, known.name)
  if (present !== null && (present.cell === undefined || present.id === known.uid)) return present
  if (present !== null) await dropCopy(deps, present)
  const transfer: Transfer = { ending: new AbortController(), heardAt: deps.clock.now() }
  const { signal } = transfer.ending
  const watching = watch(deps, known, transfer)
  try {
    await checkRoom(deps)
    const stream = await deps.directory.bases.open(known, signal)
    return stream === null
      ? null
      : await keepCopy(deps, known, { ending: transfer.ending, stream: noted(stream, { ...deps, transfer }) })
  } catch (error) {
    const cause: unknown = signal.aborted ? signal.reason : error
    if (cause instanceof ServiceError && cause.code !== 'internal') throw cause
    // The pool refuses a stream that is none, and whatever this host's own disk refuses.
    await deps.filesystem.checkWritable()
    throw notWhole(known, cause)
  } finally {
    transfer.ending.abort()
    await watching
  }
}

interface Transfer {
  /** Aborts it. */
  ending: AbortController
  /** When something came last, in ms since the epoch. */
  heardAt: number
}

async function keepCopy(
  deps: BaseCopiesDeps,
  known: FleetBase,
  { stream, ending }: Pick<Transfer, 'ending'> & { stream: AsyncIterable<Uint8Array> },
): Promise<BaseRecord | null> {
  const { store, filesystem, directory, clock } = deps
  const createdAt = clock.now()
  // A name of its own: an earlier copy of the same base may not be destroyed yet.
  const subvolume = newId('bas', createdAt)
  const container = subvolume.replace(/^bas/, 'tmp')
  const tombstones = [subvolume, container].map((root) => ({ id: root, root, createdAt }))
  for (const tombstone of tombstones) await store.tombstones.insert(tombstone)
  try {
    const { signal } = ending
    await filesystem.receive({
      container,
      name: subvolume,
      project: known.project,
      quotaBytes: null,
      streams: only(stream),
      signal,
    })
    await filesystem.setReadOnly(subvolume, true)
    const { uid: id, createdBy: _, ...told } = known
    const record = await store.bases.insert({ ...told, id, subvolume, sizeBytes: null, createdBy: null })
    if (record === null || directory.bases.find(known)?.uid === id) return record
    // Deleted, or made anew, while it came.
    await dropCopy(deps, record)
    return null
  } finally {
    await discardUncommitted(deps, ...tombstones)
  }
}

/** Aborts a transfer that leaves the pool no room, or that has stopped. */
async function watch(deps: BaseCopiesDeps, known: FleetBase, transfer: Transfer): Promise<void> {
  const { clock } = deps
  const { signal } = transfer.ending
  while (!signal.aborted) {
    await clock.sleep(WATCH_MS, signal)
    if (signal.aborted) return
    if (clock.now() - transfer.heardAt > SILENT_MS) transfer.ending.abort(notWhole(known, 'nothing came'))
    else await checkRoom(deps).catch((error: unknown) => transfer.ending.abort(error))
  }
}

async function* noted(
  stream: AsyncIterable<Uint8Array>,
  { clock, transfer }: Pick<BaseCopiesDeps, 'clock'> & { transfer: Transfer },
): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    transfer.heardAt = clock.now()
    yield piece
  }
}

async function* only(stream: AsyncIterable<Uint8Array>): AsyncGenerator<AsyncIterable<Uint8Array>> {
  yield stream
}

async function checkRoom({ filesystem }: Pick<BaseCopiesDeps, 'filesystem'>): Promise<void> {
  const { availableBytes } = await filesystem.capacity()
  if (availableBytes >= ROOM_BYTES) return
  throw refusal('storage_full', ['The storage pool has no room for a copy of the base.', FREE_POOL])
}

function notWhole({ name, cell }: FleetBase, cause: unknown): ServiceError {
  const detail = `The base "${name}" did not come whole from cell ${cell}, which made it; try again.`
  return new ServiceError('agent_unavailable', detail, { headers: { 'Retry-After': '2' }, cause })
}

const ROOM_BYTES = 64 * 1024 ** 2
const WATCH_MS = 1_000
/** Its cell may have others to send to first. */
const SILENT_MS = 120_000
