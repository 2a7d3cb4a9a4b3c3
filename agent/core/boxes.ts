import { ServiceError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { BoxConfig, BoxListQuery, CreateBoxBody } from '../../shared/schemas/boxes.ts'
import type { Clock } from '../ports/clock.ts'
import type { CowFilesystem } from '../ports/cow-filesystem.ts'
import type { BoxRecord, Store } from '../ports/store.ts'
import { pendingRecord } from './box-outcome.ts'
import type { Caller } from './caller.ts'
import { checkEnvironment } from './environment.ts'
import { decodeCursor, encodeCursor } from './paging.ts'
import { checkIfMatch } from './preconditions.ts'
import type { Reconciler } from './reconciler.ts'

export interface BoxesDeps {
  store: Store
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  defaults: BoxDefaults
  limits: { boxesMax: number }
}

/** What a box gets where its creator says nothing. */
export interface BoxDefaults {
  base: string
  config: BoxConfig
  gracePeriodSeconds: number
}

/** A box by its path. */
export interface BoxRef {
  project: string
  name: string
}

/** How a mutation is asked for: how long it waits, and on which condition it acts. */
export interface Mutation {
  waitMs: number
  ifMatch: string | null
  idempotencyKey: string | null
}

/** A box after a mutation; `isSettled` false: the effect is not there yet. */
export interface Mutated {
  record: BoxRecord
  isSettled: boolean
}

/** The boxes of the API. */
export interface Boxes {
  create(caller: Caller, wanted: { project: string; body: CreateBoxBody }, how: Mutation): Promise<Mutated>
  /** @throws ServiceError `box_not_found` */
  get(ref: BoxRef): Promise<BoxRecord>
  list(caller: Caller, project: string, query: BoxListQuery): Promise<{ records: BoxRecord[]; next: string | null }>
  stop(ref: BoxRef, how: Mutation): Promise<Mutated>
  resume(ref: BoxRef, how: Mutation): Promise<Mutated>
  /** Resolves once the record is gone for good; processes and space follow. */
  remove(ref: BoxRef, how: Mutation): Promise<void>
}

/** Writes what is wanted, durably, and lets the reconciler bring it about. */
export function createBoxes(deps: BoxesDeps): Boxes {
  const { store, reconciler, clock } = deps
  const get = async ({ project, name }: BoxRef): Promise<BoxRecord> => {
    const record = await store.boxes.get(project, name)
    if (record) return record
    throw new ServiceError('box_not_found', `No box named "${name}" in project "${project}".`)
  }
  const settle = async (record: BoxRecord, waitMs: number): Promise<Mutated> => {
    const { generation } = record.desired
    const settled = await reconciler.settled(record.id, generation, waitMs)
    if (!settled) throw new ServiceError('box_not_found', `The box "${record.name}" was deleted meanwhile.`)
    return {
      record: settled,
      isSettled: isSettledAt(settled, generation),
    }
  }
  const setPower = async (ref: BoxRef, power: 'running' | 'stopped', how: Mutation): Promise<Mutated> => {
    for (;;) {
      const record = await get(ref)
      checkIfMatch(how.ifMatch, record.version)
      if (record.desired.power === power) return settle(record, how.waitMs)
      const wanted = { ...record, desired: { power, generation: record.desired.generation + 1 } }
      const changed = pendingRecord(wanted, power === 'running' ? 'starting' : 'stopping', clock.now())
      if (!(await store.boxes.replace(changed))) continue
      reconciler.wake(changed.id)
      return settle(changed, how.waitMs)
    }
  }
  return {
    get,
    create: async (caller, wanted, how) => {
      const asked = { caller, ...wanted, idempotencyKey: how.idempotencyKey }
      const earlier = await ownEarlierBox(store, asked)
      if (earlier) return settle(earlier, how.waitMs)
      const record = await newRecord(deps, asked)
      if (!(await store.boxes.insert(record))) throw nameTaken(record)
      reconciler.wake(record.id)
      const settled = await reconciler.settled(record.id, 1, how.waitMs)
      // Its record was durable: whatever became of it since, it was created.
      return settled ? { record: settled, isSettled: isSettledAt(settled, 1) } : { record, isSettled: false }
    },
    list: (caller, project, query) => listBoxes(store, project === '-' ? caller.projects : [project], query),
    stop: (ref, how) => setPower(ref, 'stopped', how),
    resume: (ref, how) => setPower(ref, 'running', how),
    remove: async (ref, how) => {
      for (;;) {
        const record = await get(ref)
        checkIfMatch(how.ifMatch, record.version)
        const tombstone = { id: record.id, root: record.root, createdAt: clock.now() }
        if (!(await store.boxes.remove(record.id, record.version, tombstone))) continue
        reconciler.bury(tombstone)
        return
      }
    },
  }
}

interface NewBox {
  caller: Caller
  project: string
  body: CreateBoxBody
  idempotencyKey: string | null
}

async function newRecord(deps: BoxesDeps, { caller, project, body, idempotencyKey }: NewBox): Promise<BoxRecord> {
  const { defaults, store, clock } = deps
  const environment = body.environment ?? {}
  checkEnvironment(environment)
  checkRegion(body.config?.region, defaults.config.region)
  const baseName = body.base ?? defaults.base
  const base = await store.bases.get(baseName)
  if (!base) throw new ServiceError('base_not_found', `No base named "${baseName}".`)
  await checkRoom(deps)
  const now = clock.now()
  const id = newId('box', now)
  return {
    id,
    project,
    name: body.name,
    version: 1,
    createdAt: now,
    updatedAt: now,
    base: base.name,
    source: base.subvolume,
    forkOf: null,
    root: `sub_${id}`,
    desired: { power: 'running', generation: 1 },
    observed: {
      status: 'pending',
      reason: 'creating',
      message: null,
      since: now,
      generation: 0,
      hasRoot: false,
      bootId: null,
    },
    config: completeConfig(body.config, defaults.config),
    environment,
    tags: body.tags ?? {},
    port: null,
    gracePeriodSeconds: defaults.gracePeriodSeconds,
    urlSettings: { auth: 'token', wake: false, idle_stop_seconds: null },
    createdBy: { token: caller.tokenId, idempotencyKey },
  }
}

function completeConfig(asked: CreateBoxBody['config'], defaults: BoxConfig): BoxConfig {
  return {
    cpus: asked?.cpus ?? defaults.cpus,
    ram_mb: asked?.ram_mb ?? defaults.ram_mb,
    region: defaults.region,
    storage_gb: asked?.storage_gb ?? defaults.storage_gb,
  }
}

function checkRegion(region: string | undefined, own: string): void {
  if (region === undefined || region === own) return
  const fault = { pointer: '/config/region', detail: `must be "${own}", the region of this deployment` }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

// Known before the record is durable, these leave no record behind (api.md §2, Box).
async function checkRoom({ store, filesystem, limits }: BoxesDeps): Promise<void> {
  const { availableBytes } = await filesystem.capacity()
  const counts = await store.boxes.countByStatus()
  const total = counts.pending + counts.running + counts.stopped + counts.unknown
  if (total >= limits.boxesMax) {
    throw new ServiceError('quota_exceeded', `This deployment holds ${total} of at most ${limits.boxesMax} boxes.`)
  }
  if (availableBytes < ROOM_BYTES) {
    const mib = Math.floor(availableBytes / 1024 ** 2)
    throw new ServiceError('storage_full', `The storage pool has ${mib} MiB left; delete boxes to make room.`)
  }
}

function isSettledAt({ observed }: BoxRecord, generation: number): boolean {
  return observed.generation >= generation && observed.status !== 'pending'
}

// The same create, sent again after an answer that a crash of ours swallowed.
async function ownEarlierBox(
  store: Store,
  { caller, project, body, idempotencyKey }: NewBox,
): Promise<BoxRecord | null> {
  if (idempotencyKey === null) return null
  const record = await store.boxes.get(project, body.name)
  const isOwn = record?.createdBy.token === caller.tokenId && record.createdBy.idempotencyKey === idempotencyKey
  return isOwn ? record : null
}

function nameTaken({ project, name }: BoxRef): ServiceError {
  return new ServiceError('name_taken', `Project "${project}" has a box named "${name}" already.`)
}

async function listBoxes(store: Store, projects: '*' | readonly string[], query: BoxListQuery) {
  const after = decodeCursor(query.continuation_token, 2)
  const { records, hasMore } = await store.boxes.list({
    projects,
    prefix: query.prefix ?? '',
    status: query.status ?? null,
    tags: parseTags(query.tag),
    after: after ? { project: after[0] ?? '', name: after[1] ?? '' } : null,
    limit: query.max_results,
  })
  const last = records.at(-1)
  return { records, next: hasMore && last ? encodeCursor([last.project, last.name]) : null }
}

function parseTags(tag: string | string[] | undefined): [string, string | null][] {
  return [tag ?? []]
    .flat()
    .flatMap((list) => list.split(','))
    .filter((item) => item !== '')
    .map((item) => {
      const at = item.indexOf('=')
      return at < 0 ? [item, null] : [item.slice(0, at), item.slice(at + 1)]
    })
}

const ROOM_BYTES = 64 * 1024 ** 2
