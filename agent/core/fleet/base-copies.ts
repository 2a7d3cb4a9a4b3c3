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

/** The bases of this cell, and copies of bases that other cells made. */
export interface BaseCopies {
  /**
   * Finds a base by name: the project's own, or else a shared one. Null if there is none. If this cell has no copy, fetches one from the
   * cell that made it. Concurrent calls share one transfer.
   * @throws ServiceError `agent_unavailable` if that cell cannot be reached or the base is incomplete, `storage_full`,
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
    // Memory may lack a base that was made a moment ago, and lacks all while it is loading.
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
 * Deletes the copies of bases that were deleted, or whose name another cell has now.
 * @throws ServiceError `runtime_unavailable` if the directory cannot be read. Earlier deletions stay.
 */
export async function dropStaleCopies(deps: Omit<BaseCopiesDeps, 'filesystem'>): Promise<void> {
  const { store, directory } = deps
  for (const record of await store.bases.all()) {
    if (record.cell === undefined || directory.bases.find(record)?.uid === record.id) continue
    if ((await directory.bases.read(record))?.uid !== record.id) await dropCopy(deps, record)
  }
}

/** Deletes the copy of a base whose name this cell has now. */
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

/** Fetches a base under tombstones, so that a fault leaves only these. Null if its cell does not have it. */
async function fetchBase(deps: BaseCopiesDeps, known: FleetBase): Promise<BaseRecord | null> {
  // The copy may have arrived while the caller looked for its owner.
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
    // The pool rejects a malformed stream, and reports errors of this host's own disk.
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
  /** When data last arrived, in ms since the epoch. */
  heardAt: number
}

async function keepCopy(
  deps: BaseCopiesDeps,
  known: FleetBase,
  { stream, ending }: Pick<Transfer, 'ending'> & { stream: AsyncIterable<Uint8Array> },
): Promise<BaseRecord | null> {
  const { store, filesystem, directory, clock } = deps
  const createdAt = clock.now()
  // Uses a new name, because an earlier copy of the same base may not be destroyed yet.
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
    // The base was deleted or made again during the transfer.
    await dropCopy(deps, record)
    return null
  } finally {
    await discardUncommitted(deps, ...tombstones)
  }
}

/** Aborts a transfer that would fill the pool, or that has stopped. */
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
  const detail = `The copy of the base "${name}" from cell ${cell} is incomplete. Retry later.`
  return new ServiceError('agent_unavailable', detail, { headers: { 'Retry-After': '2' }, cause })
}

const ROOM_BYTES = 64 * 1024 ** 2
const WATCH_MS = 1_000
/** Its cell may serve other transfers first. */
const SILENT_MS = 120_000
