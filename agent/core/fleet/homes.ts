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

/** The part of a box or volume that its ownership record shows. */
interface Named {
  id: string
  project: string
  name: string
  createdBy: { token: string; idempotencyKey: string | null }
}

/** A box or volume with an ownership record, or about to have one. */
type Homed = { kind: 'box'; record: BoxRecord } | { kind: 'volume'; record: VolumeRecord }

/** Returns the name of a box or volume with its id, for its tombstone. The cell that destroys the data also gives up the name. */
export function homeOf(kind: NamedHome['kind'], { id, project, name }: Omit<Named, 'createdBy'>): NamedHome {
  return { kind, project, name, uid: id }
}

/**
 * Claims the name of a new box or volume while `work` makes its subvolume. Waits for both, because neither may outlive its tombstone.
 * @throws ServiceError `name_taken`, `runtime_unavailable` of the claim, or the error of `work`
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
 * Destroys the data of a create that failed with `error`, as `discardUncommitted` does, and gives up its name. The name is free before the
 * response. While the directory is away, `tombstone` keeps the name.
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

/** Gives up the name of a deleted resource. While the directory cannot be written, the tombstone keeps the name, for a retry. */
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
 * Claims the names of all boxes and volumes of this cell that the directory lacks, for example after a restore of its backup. Calls
 * `onConflict` for each name that another cell has now.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be written. Earlier claims stay.
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
      // A resource deleted at the same time may have given up its name before the claim.
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
 * Gives up names of this cell in the directory that have neither a record nor a tombstone here. A restored backup of the directory can
 * contain names of resources that were deleted after the backup.
 * @throws ServiceError `runtime_unavailable` while the directory cannot be read or written
 */
export async function releaseLost({ store, directory }: { store: Store; directory: Directory }): Promise<void> {
  for (const kind of ['box', 'volume'] as const) {
    for await (const homes of directory.homesOf({ cell: directory.cell, kind, project: null })) {
      // A name has a tombstone from before its claim until there is a record, and again after the deletion.
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
