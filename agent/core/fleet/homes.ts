import { ServiceError } from '../../../shared/errors.ts'
import type { Directory, HomeCard, HomeClaim, HomeName } from '../../ports/fleet/directory.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { NamedBase, NamedHome, Tombstone } from '../../ports/store/tombstones.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { digestOf } from '../common/digest.ts'
import { volumeNotFound } from '../common/lookup.ts'
import { elsewhereError } from './placement.ts'

/** What of a box or volume its home says. */
interface Named {
  id: string
  project: string
  name: string
  createdBy: { token: string; idempotencyKey: string | null }
}

/** A box or volume that is about to have a home, or has one. */
type Homed = { kind: 'box'; record: BoxRecord } | { kind: 'volume'; record: VolumeRecord }

/** Returns the name of a box or volume with its id, for its tombstone: who destroys what it had gives up the name as well. */
export function homeOf(kind: NamedHome['kind'], { id, project, name }: Omit<Named, 'createdBy'>): NamedHome {
  return { kind, project, name, uid: id }
}

/**
 * Claims the name of a new box or volume while `work` makes its subvolume, and waits for both: what is under way must not outlive its
 * tombstone.
 * @throws ServiceError `name_taken`, `runtime_unavailable` of the claim, or else what `work` throws
 */
export async function claimWhile(directory: Directory, home: Homed, work: () => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled([directory.claim(claimOf(home)), work()])
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

/** Makes the error for a box or volume without a record here, which another cell may have. */
export function missingError(name: HomeName, directory: Pick<Directory, 'cell' | 'find'>): ServiceError {
  const cell = directory.find(name)?.cell
  if (cell !== undefined && cell !== directory.cell)
    return elsewhereError(
      `${name.kind} "${name.name}" is at cell ${cell}, what it goes with at cell ${directory.cell}.`,
    )
  return name.kind === 'box'
    ? new ServiceError('box_not_found', `No box named "${name.name}" in project "${name.project}".`)
    : volumeNotFound(name)
}

/**
 * Destroys what a create that failed with `error` began under `tombstone`, as `discardUncommitted`, and gives up its name, which is free
 * before the answer like that of what was deleted; while the directory is away the tombstone keeps it.
 */
export async function discardClaimed(
  deps: Parameters<typeof discardUncommitted>[0] & { directory: Parameters<typeof releaseName>[0] },
  tombstone: Tombstone,
  error: unknown,
): Promise<void> {
  const left = await discardUncommitted(deps, tombstone)
  if (error instanceof ServiceError && error.code === 'runtime_unavailable') return
  for (const { home } of left) if (home !== undefined) await releaseDeleted(deps.directory, home)
}

/** Gives up the name of what was deleted. While the directory cannot be written, its tombstone keeps it, and is tried again. */
export async function releaseDeleted(
  directory: Parameters<typeof releaseName>[0],
  home: NamedHome | NamedBase,
): Promise<void> {
  await releaseName(directory, home).catch(() => undefined)
}

/** Gives up the name of a box, volume or base. @throws ServiceError `runtime_unavailable` while the directory cannot be written */
export function releaseName(
  directory: Pick<Directory, 'release' | 'bases'>,
  home: NamedHome | NamedBase,
): Promise<void> {
  return home.kind === 'base' ? directory.bases.release(home, home.uid) : directory.release(home, home.uid)
}

/**
 * Claims the names of all boxes and volumes of this cell that the directory does not know, as after a backup of it was restored. Calls
 * `onConflict` for each that another has by now.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be written; what was claimed stays so
 */
export async function publishHomes(
  { store, directory }: { store: Store; directory: Directory },
  onConflict: (home: NamedHome, problem: string) => void,
): Promise<void> {
  const publish = async (homed: Homed): Promise<void> => {
    const { kind, record } = homed
    const home = homeOf(kind, record)
    if (directory.find(home)?.cell === directory.cell) return
    try {
      const { cell } = await directory.claim(claimOf(homed))
      if (cell !== directory.cell) onConflict(home, `cell ${cell} has it`)
      // Deleted meanwhile, it may have given up its name before the claim.
      else if ((await store[RECORDS[kind]].get(home.project, home.name))?.id !== home.uid)
        await directory.release(home, home.uid)
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'name_taken')) throw error
      onConflict(home, 'another resource has its name')
    }
  }
  for await (const record of store.boxes.each()) await publish({ kind: 'box', record })
  for (const record of await store.volumes.all()) await publish({ kind: 'volume', record })
}

/**
 * Gives up the names that this cell has in the directory for what it has neither a record nor a tombstone of, as of what was deleted
 * after a copy of the directory was made that has taken its place.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be read or written
 */
export async function releaseLost({ store, directory }: { store: Store; directory: Directory }): Promise<void> {
  for (const kind of ['box', 'volume'] as const) {
    for await (const homes of directory.homesOf({ cell: directory.cell, kind, project: null })) {
      // A name has a tombstone before it is claimed, until there is a record, and again from the deletion on.
      const dying = new Set((await store.tombstones.all()).map(({ home }) => home?.uid))
      for (const home of homes.filter(({ uid }) => !dying.has(uid))) {
        const record = await store[RECORDS[kind]].get(home.project, home.name)
        if (record?.id !== home.uid) await directory.release(home, home.uid)
      }
    }
  }
}

const RECORDS = { box: 'boxes', volume: 'volumes' } as const

function claimOf(homed: Homed): HomeClaim {
  const { kind, record } = homed
  const { id, project, name } = record
  const { token, idempotencyKey: key } = record.createdBy
  const createdBy = key === null ? null : digestOf(`${token}\n${key}`)
  return { kind, project, name, uid: id, createdBy, card: cardOf(homed) }
}

function cardOf(homed: Homed): HomeCard {
  if (homed.kind === 'box') {
    const { createdAt, base, forkOf, port, config } = homed.record
    return { createdAt, base, forkOf, port, config, storageGb: config.storage_gb }
  }
  const { createdAt, from, sizeGb } = homed.record
  return { createdAt, base: null, forkOf: from, port: null, config: null, storageGb: sizeGb }
}
