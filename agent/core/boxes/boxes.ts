import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { BoxListQuery, CreateBoxBody, UpdateBoxBody } from '../../../shared/schemas/boxes.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { NamedQuery } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { awaitCommit } from '../common/commit.ts'
import { discardUncommitted, findByIdempotencyKey } from '../common/create-record.ts'
import { editRecord } from '../common/edit-record.ts'
import { boxGone } from '../common/lookup.ts'
import { checkNesting } from '../common/nesting.ts'
import { namedPage, nextNamedPage } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { createBaseCopies } from '../fleet/base-copies.ts'
import { homeOf, releaseDeleted } from '../fleet/homes.ts'
import { pendingRecord } from '../reconcile/outcome.ts'
import { createBoxRecord, resourcesOf } from './create.ts'
import { type UpdateDeps, updateBox } from './update.ts'

export type BoxesDeps = UpdateDeps

/** The path of a box. */
export interface BoxRef {
  project: string
  name: string
}

/** How long a mutation waits for its effect, and on which conditions it acts. */
export interface Mutation {
  waitMs: number
  ifMatch: string | null
  idempotencyKey: string | null
}

/** A box after a mutation. `isSettled` is false if it has not reached the desired state yet. */
export interface Mutated {
  record: BoxRecord
  isSettled: boolean
}

/** The boxes of the API. */
export interface Boxes {
  create(caller: Caller, request: { project: string; body: CreateBoxBody }, options: Mutation): Promise<Mutated>
  /** @throws ServiceError `box_not_found` */
  get(ref: BoxRef): Promise<BoxRecord>
  list(caller: Caller, project: string, query: BoxListQuery): Promise<{ records: BoxRecord[]; next: string | null }>
  /** Changes a running box at once. `check` gets the record before the change. */
  update(ref: BoxRef, body: UpdateBoxBody, options: Mutation & { check(record: BoxRecord): void }): Promise<BoxRecord>
  /**
   * Keeps a box in any state from being stopped as idle for `seconds` from now. Durable when it resolves. A lease that lasts longer stays,
   * but 0 ends it. @throws ServiceError `precondition_failed`
   */
  lease(ref: BoxRef, options: { seconds: number; ifMatch: string | null }): Promise<BoxRecord>
  stop(ref: BoxRef, options: Mutation): Promise<Mutated>
  resume(ref: BoxRef, options: Mutation): Promise<Mutated>
  /** Resolves once the record is gone for good. Processes and space follow. */
  remove(ref: BoxRef, options: Mutation): Promise<void>
}

/** Writes the desired state, durably, and lets the reconciler bring it about. */
export function createBoxes(deps: BoxesDeps): Boxes {
  const { store, reconciler, clock, filesystem, admission, runtime } = deps
  const names = createKeyedLock()
  const making = { ...deps, baseCopies: createBaseCopies(deps) }
  const get = async ({ project, name }: BoxRef): Promise<BoxRecord> => {
    const record = await store.boxes.get(project, name)
    if (record) return record
    throw new ServiceError('box_not_found', `No box named "${name}" in project "${project}".`)
  }
  const settle = async (record: BoxRecord, waitMs: number): Promise<Mutated> => {
    const { generation } = record.desired
    const settled = await reconciler.settled(record.id, generation, waitMs)
    if (!settled) throw boxGone(record)
    return { record: settled, isSettled: isSettledAt(settled, generation) }
  }
  const setPower = async (ref: BoxRef, power: 'running' | 'stopped', options: Mutation): Promise<Mutated> => {
    for (;;) {
      const record = await get(ref)
      checkIfMatch(options.ifMatch, record.version)
      if (record.desired.power === power) return settle(record, options.waitMs)
      if (power === 'running') checkNesting(record, deps.defaults.allowsNesting)
      await runtime.checkReady()
      const next = { ...record, desired: { power, generation: record.desired.generation + 1 } }
      const changed = pendingRecord(next, power === 'running' ? 'starting' : 'stopping', clock.now())
      const { boxes: _boxes, storageGb: _storage, ...request } = resourcesOf(record)
      const write = (): Promise<boolean> => awaitCommit(store.boxes.replace(changed), () => reconciler.wake(changed.id))
      if (!(await (power === 'running' ? admission.admit(request, write) : write()))) continue
      reconciler.wake(changed.id)
      return settle(changed, options.waitMs)
    }
  }
  return {
    get,
    create: async (caller, { project, body }, options) => {
      const { idempotencyKey } = options
      const find = (): Promise<BoxRecord | null> => store.boxes.get(project, body.name)
      const earlier = await findByIdempotencyKey(find, caller, idempotencyKey)
      if (earlier) return settle(earlier, options.waitMs)
      await runtime.checkReady()
      // Serializes concurrent creates of one name, so that only one copies a root.
      const request = { caller, project, body, idempotencyKey }
      const record = await names.run(`${project}/${body.name}`, () => createBoxRecord(making, request))
      reconciler.wake(record.id)
      const settled = await reconciler.settled(record.id, 1, options.waitMs)
      // Null if it was created, but deleted before the read.
      return settled ? { record: settled, isSettled: isSettledAt(settled, 1) } : { record, isSettled: false }
    },
    list: async (caller, project, query) => listBoxes(store, namedPage(caller, project, query), query.status),
    update: async (ref, body, options) => updateBox(deps, (await get(ref)).id, { body, ...options }),
    lease: (ref, options) => leaseBox(deps, () => get(ref), options),
    stop: (ref, options) => setPower(ref, 'stopped', options),
    resume: (ref, options) => setPower(ref, 'running', options),
    remove: async (ref, options) => {
      for (;;) {
        const record = await get(ref)
        checkIfMatch(options.ifMatch, record.version)
        const home = homeOf('box', record)
        const tombstone = { id: record.id, root: record.root, createdAt: clock.now(), home }
        const remains = await removeRecord(deps, record, tombstone)
        if (remains === null) continue
        // A restore under way may have started it with the copies made for that.
        const used = [...record.mounts.map(({ subvolume }) => subvolume), ...remains.map(({ root }) => root)]
        const trees = used.filter((name) => name !== record.root).map((name) => filesystem.path(name))
        for (const each of remains) reconciler.scheduleDestroy(each, each.id === record.id ? trees : [])
        return releaseDeleted(deps.directory, home)
      }
    },
  }
}

// If the commit is in doubt, the next start of the agent destroys the snapshots of the box.
function removeRecord(deps: BoxesDeps, { id, version }: BoxRecord, tombstone: Tombstone): Promise<Tombstone[] | null> {
  return awaitCommit(deps.store.boxes.remove(id, version, tombstone), () => discardUncommitted(deps, tombstone))
}

function isSettledAt({ observed }: BoxRecord, generation: number): boolean {
  return observed.generation >= generation && observed.status !== 'pending'
}

async function listBoxes(store: Store, page: NamedQuery, status: BoxListQuery['status']) {
  const found = await store.boxes.list({ ...page, status: status ?? null })
  return { records: found.records, next: nextNamedPage(found) }
}

function leaseBox(
  { store, clock }: BoxesDeps,
  read: () => Promise<BoxRecord>,
  { seconds, ifMatch }: Parameters<Boxes['lease']>[1],
): Promise<BoxRecord> {
  return editRecord(clock, {
    read,
    edit: (record) => {
      checkIfMatch(ifMatch, record.version)
      const leaseUntil = seconds === 0 ? null : Math.max(record.leaseUntil ?? 0, clock.now() + seconds * 1000)
      return leaseUntil === record.leaseUntil ? record : { ...record, leaseUntil }
    },
    write: (next) => store.boxes.replace(next),
  })
}
