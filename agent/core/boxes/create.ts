import { ServiceError } from '../../../shared/errors.ts'
import { FREE_POOL, OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import type { BoxConfig, CreateBoxBody } from '../../../shared/schemas/boxes.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Admission } from '../common/admission.ts'
import { checkEnvironment } from '../common/environment.ts'
import { volumeGone } from '../common/lookup.ts'
import { checkNesting } from '../common/nesting.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import { bytesOf } from '../common/sizes.ts'
import type { BaseCopies } from '../fleet/base-copies.ts'
import { claimWhile, discardClaimed, homeOf, missingError } from '../fleet/homes.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { findBoxSnapshot } from '../snapshots/snapshots.ts'
import { checkMountPath, checkPathIsFree } from './mount-paths.ts'
import { type BoxDefaults, type BoxOrigin, type NewBox, newRecord } from './record.ts'

export interface CreateDeps {
  store: Store
  filesystem: CowFilesystem
  directory: Directory
  reconciler: Reconciler
  clock: Clock
  admission: Admission
  defaults: BoxDefaults
}

interface MakeDeps extends CreateDeps {
  baseCopies: BaseCopies
}

/**
 * Copies the root of a new box from the current state of its source, claims its name, then writes its record durably. An earlier fault
 * leaves no record, and a tombstone for root and name.
 */
export async function createBoxRecord(deps: MakeDeps, request: NewBox): Promise<BoxRecord> {
  const { store, clock, admission } = deps
  const { project, body } = request
  checkEnvironment(body.environment ?? {})
  checkRegion(body.config?.region, deps.defaults.config.region)
  checkNode(body.node, deps.defaults.node)
  checkCores(body.config?.cpus, deps.defaults)
  checkShares(body.config, deps.defaults.config)
  const origin = await findOrigin(deps, request)
  const mounts = await resolveMounts(deps, request)
  if (await store.boxes.get(project, body.name)) throw nameTaken(project, body.name)
  const record = newRecord(request, { origin, mounts, now: clock.now(), defaults: deps.defaults })
  checkNesting(record, deps.defaults.allowsNesting)
  const resources = { ...resourcesOf(record), recordBytes: recordGrowth(null, record) }
  await admission.check(resources)
  await checkRoom(deps.filesystem)
  const home = homeOf('box', record)
  const tombstone = { id: record.id, root: record.root, createdAt: record.createdAt, home }
  await store.tombstones.insert(tombstone)
  try {
    await claimWhile(deps.directory, { kind: 'box', record }, () => makeRoot(deps, record, { request, origin }))
    await admission.admit(resources, () => insert(store, record))
  } catch (error) {
    await discardClaimed(deps, tombstone, error)
    // A commit that reported an error may have succeeded. Then the box exists, and must start.
    deps.reconciler.wake(record.id)
    throw error
  }
  return record
}

/** Returns the resources that a running box takes of its project and host. While it is stopped, only `storageGb`. */
export function resourcesOf({ project, config }: BoxRecord) {
  return { project, boxes: 1, cpus: config.cpus, ramMb: config.ram_mb, storageGb: config.storage_gb }
}

/**
 * Refuses a region that is not the deployment's own.
 * @throws ServiceError `invalid_request`
 */
export function checkRegion(region: string | null | undefined, own: string): void {
  if (region === undefined || region === null || region === own) return
  throw invalidRequest([{ pointer: '/config/region', detail: `must be "${own}", the region of this deployment` }])
}

function checkNode(node: string | undefined, own: string): void {
  if (node === undefined || node === own) return
  throw invalidRequest([{ pointer: '/node', detail: `must be "${own}", the node of this agent` }])
}

/**
 * Refuses more of network and disk than a box of the deployment may have.
 * @throws ServiceError `invalid_request`
 */
export function checkShares(given: CreateBoxBody['config'] | null, defaults: BoxConfig): void {
  for (const name of SHARES) {
    const [value, most] = [given?.[name] ?? null, defaults[name]]
    if (value === null || most === null || value <= most) continue
    throw invalidRequest([{ pointer: `/config/${name}`, detail: `must be at most ${most} in this deployment` }])
  }
}

/**
 * Refuses more processors than the host has, which no box could use.
 * @throws ServiceError `invalid_request`
 */
export function checkCores(cpus: number | null | undefined, { hostCores }: Pick<BoxDefaults, 'hostCores'>): void {
  if (cpus === null || cpus === undefined || cpus <= hostCores) return
  const detail = `must be at most ${hostCores}, the CPUs of this host`
  throw invalidRequest([{ pointer: '/config/cpus', detail }])
}

async function findOrigin({ store, baseCopies, defaults }: MakeDeps, { project, body }: NewBox): Promise<BoxOrigin> {
  const { base: requested = null, fork = null } = body
  if (fork !== null) {
    if (requested === null) return findForkOrigin(store, project, fork)
    throw new ServiceError(
      'base_and_fork',
      'A box is made from a base or forked from a box, not both. Leave out `base` or `fork`.',
    )
  }
  const name = requested ?? defaults.base
  const base = await baseCopies.find(project, name)
  if (!base) throw baseNotFound(name)
  const { config, gracePeriodSeconds } = defaults
  const { id: baseId, subvolume } = base
  return { base: name, baseId, forkOf: null, subvolume, config, environment: {}, port: null, gracePeriodSeconds }
}

async function findForkOrigin(store: Store, project: string, fork: string): Promise<BoxOrigin> {
  const [name = '', snapshot] = fork.split('@')
  const source = await store.boxes.get(project, name)
  if (!source) throw sourceNotFound(project, name)
  const subvolume = snapshot === undefined ? source.root : (await findBoxSnapshot(store, source, snapshot)).subvolume
  const { base, baseId = null, config, environment, port, protocol, gracePeriodSeconds } = source
  return { base, baseId, forkOf: name, subvolume, config, environment, port, protocol, gracePeriodSeconds }
}

async function resolveMounts({ store, directory }: CreateDeps, { project, body }: NewBox): Promise<MountRecord[]> {
  const mounts: MountRecord[] = []
  for (const [index, { name, path, read_only: readOnly = false }] of (body.data_mounts ?? []).entries()) {
    checkMountPath(path)
    const volume = await store.volumes.get(project, name)
    if (!volume) throw missingError({ kind: 'volume', project, name }, directory)
    if (mounts.some(({ volumeId }) => volumeId === volume.id)) {
      throw invalidRequest([{ pointer: `/data_mounts/${index}/name`, detail: 'occurs twice in one box' }])
    }
    // Compares equal paths only. Mounts are made parents first, so none hides another.
    checkPathIsFree(
      path,
      mounts.filter((mount) => mount.path === path),
    )
    mounts.push({ volumeId: volume.id, name, subvolume: volume.subvolume, path, readOnly })
  }
  return mounts
}

// Reports a source that was just deleted as not found, regardless of the pool's error.
async function makeRoot(
  deps: MakeDeps,
  record: BoxRecord,
  { request, origin }: { request: NewBox; origin: BoxOrigin },
): Promise<void> {
  const { root, config, project } = record
  const quotaBytes = bytesOf(config.storage_gb)
  try {
    await deps.filesystem.snapshot({ source: origin.subvolume, name: root, project, isReadOnly: false, quotaBytes })
  } catch (error) {
    const source = await findOrigin(deps, request)
    if (source.subvolume === origin.subvolume) throw error
    const { base, fork = null } = request.body
    throw fork === null ? baseNotFound(base ?? deps.defaults.base) : sourceNotFound(request.project, fork)
  }
}

async function insert(store: Store, record: BoxRecord): Promise<void> {
  switch (await store.boxes.insert(record)) {
    case 'name_taken':
      throw nameTaken(record.project, record.name)
    case 'volume_gone':
      throw volumeGone('A data volume of the box')
    case 'volume_in_use':
      throw refusal('volume_in_use', [
        '`data_mounts`: a data volume has a box that writes to it already.',
        'Mount it read-only.',
      ])
    case 'stored':
  }
}

// Refuses before the record is durable, so that none is left behind (docs/api.md#states-of-a-box).
async function checkRoom(filesystem: CowFilesystem): Promise<void> {
  const { availableBytes } = await filesystem.capacity()
  if (availableBytes >= ROOM_BYTES) return
  const mib = Math.floor(availableBytes / 1024 ** 2)
  throw refusal('storage_full', [`The storage pool has ${mib} MiB left.`, FREE_POOL])
}

function nameTaken(project: string, name: string): ServiceError {
  return refusal('name_taken', [`Project "${project}" has a box named "${name}" already.`, OTHER_NAME])
}

function baseNotFound(name: string): ServiceError {
  return new ServiceError('base_not_found', `No base named "${name}".`)
}

function sourceNotFound(project: string, name: string): ServiceError {
  return new ServiceError('box_not_found', `No box named "${name}" in project "${project}" to fork from.`)
}

const SHARES = ['network_mbps', 'disk_mbps', 'disk_iops'] as const
const ROOM_BYTES = 64 * 1024 ** 2
