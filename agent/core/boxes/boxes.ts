import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { BoxListQuery, CreateBoxBody, UpdateBoxBody } from '../../../shared/schemas/boxes.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { NamedQuery } from '../../ports/store/volumes.ts'
import { boxGone, readBox } from '../common/box-lookup.ts'
import type { Caller } from '../common/caller.ts'
import { editRecord } from '../common/edit-record.ts'
import { findByIdempotencyKey } from '../common/idempotent-create.ts'
import { namedPage, nextNamedPage } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { bytesOf } from '../common/sizes.ts'
import { pendingRecord } from '../reconcile/box-outcome.ts'
import { unlessEnded } from '../reconcile/box-start.ts'
import { checkNoRestore } from '../reconcile/restore-fault.ts'
import { type CreateDeps, createBoxRecord, resourcesOf } from './create.ts'
import { resizeTree, updatedRecord } from './update.ts'

export interface BoxesDeps extends CreateDeps {
  runtime: Runtime
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
  /** Acts on a running box at once. `check` sees the record that is changed. */
  update(ref: BoxRef, body: UpdateBoxBody, how: Mutation & { check(record: BoxRecord): void }): Promise<BoxRecord>
  stop(ref: BoxRef, how: Mutation): Promise<Mutated>
  resume(ref: BoxRef, how: Mutation): Promise<Mutated>
  /** Resolves once the record is gone for good; processes and space follow. */
  remove(ref: BoxRef, how: Mutation): Promise<void>
}

/** Writes what is wanted, durably, and lets the reconciler bring it about. */
export function createBoxes(deps: BoxesDeps): Boxes {
  const { store, reconciler, clock, filesystem, admission, runtime } = deps
  const names = createKeyedLock()
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
  const setPower = async (ref: BoxRef, power: 'running' | 'stopped', how: Mutation): Promise<Mutated> => {
    for (;;) {
      const record = await get(ref)
      checkIfMatch(how.ifMatch, record.version)
      if (record.desired.power === power) return settle(record, how.waitMs)
      await runtime.checkReady()
      const wanted = { ...record, desired: { power, generation: record.desired.generation + 1 } }
      const changed = pendingRecord(wanted, power === 'running' ? 'starting' : 'stopping', clock.now())
      const { boxes: _boxes, storageGb: _storage, ...wish } = resourcesOf(record)
      const write = (): Promise<boolean> => store.boxes.replace(changed)
      if (!(await (power === 'running' ? admission.admit(wish, write) : write()))) continue
      reconciler.wake(changed.id)
      return settle(changed, how.waitMs)
    }
  }
  return {
    get,
    create: async (caller, wanted, how) => {
      const asked = { caller, ...wanted, idempotencyKey: how.idempotencyKey }
      const find = (): Promise<BoxRecord | null> => store.boxes.get(asked.project, asked.body.name)
      const earlier = await findByIdempotencyKey(find, caller, how.idempotencyKey)
      if (earlier) return settle(earlier, how.waitMs)
      await runtime.checkReady()
      // Of many at once for one name only the first makes a root.
      const record = await names.run(`${asked.project}/${asked.body.name}`, () => createBoxRecord(deps, asked))
      reconciler.wake(record.id)
      const settled = await reconciler.settled(record.id, 1, how.waitMs)
      // Its record was durable: whatever became of it since, it was created.
      return settled ? { record: settled, isSettled: isSettledAt(settled, 1) } : { record, isSettled: false }
    },
    list: async (caller, project, query) => listBoxes(store, namedPage(caller, project, query), query.status),
    update: async (ref, body, how) => updateBox(deps, (await get(ref)).id, { body, how }),
    stop: (ref, how) => setPower(ref, 'stopped', how),
    resume: (ref, how) => setPower(ref, 'running', how),
    remove: async (ref, how) => {
      for (;;) {
        const record = await get(ref)
        checkIfMatch(how.ifMatch, record.version)
        const tombstone = { id: record.id, root: record.root, createdAt: clock.now() }
        const remains = await store.boxes.remove(record.id, record.version, tombstone)
        if (remains === null) continue
        // A restore under way may have started it with what was made for that.
        const used = [...record.mounts.map(({ subvolume }) => subvolume), ...remains.map(({ root }) => root)]
        const trees = used.filter((name) => name !== record.root).map((name) => filesystem.path(name))
        for (const each of remains) reconciler.scheduleDestroy(each, each.id === record.id ? trees : [])
        return
      }
    },
  }
}

interface Update {
  body: UpdateBoxBody
  how: Parameters<Boxes['update']>[2]
}

// The world first: what cannot be done leaves the record as it was. Cut off in between, the record is brought about again.
async function updateBox(deps: BoxesDeps, id: string, { body, how }: Update): Promise<BoxRecord> {
  const { store, reconciler, clock, admission, defaults } = deps
  const change = (isRunning: boolean): Promise<BoxRecord> => {
    return editRecord(clock, {
      read: () => readBox(store, { id }),
      edit: (record) => {
        checkIfMatch(how.ifMatch, record.version)
        how.check(record)
        checkNoRestore(record)
        return updatedRecord(record, body, defaults)
      },
      write: async (next, record) => {
        const growth = growthOf(record, next)
        await admission.check(growth)
        // Not in the turn of admission: one box that does not answer would hold up all others.
        await applyConfig(deps, { record, next, isRunning })
        return admission.admit(growth, () => store.boxes.replace(next))
      },
    })
  }
  const turn = async (isRunning: boolean): Promise<BoxRecord> => {
    try {
      return await change(isRunning)
    } catch (error) {
      if (isRunning) reconciler.verify(id)
      else await restoreRoot(deps, id)
      throw error
    }
  }
  return reconciler.exclusive(id, turn, how.waitMs)
}

async function restoreRoot({ store, filesystem }: BoxesDeps, id: string): Promise<void> {
  const record = await store.boxes.byId(id)
  // Where this fails as well, the next start of the service does it.
  if (record) await filesystem.setQuota(record.root, bytesOf(record.config.storage_gb)).catch(() => undefined)
}

async function applyConfig(
  { runtime, filesystem }: BoxesDeps,
  { record, next, isRunning }: { record: BoxRecord; next: BoxRecord; isRunning: boolean },
): Promise<void> {
  const { cpus, ram_mb: ramMb, storage_gb: storageGb } = next.config
  const isResized = cpus !== record.config.cpus || ramMb !== record.config.ram_mb
  if (isRunning && isResized) await unlessEnded(runtime.resize(record.id, { cpus, ramMb }))
  if (storageGb !== record.config.storage_gb)
    await resizeTree(filesystem, { name: record.root, what: 'The box' }, storageGb)
}

function growthOf(record: BoxRecord, next: BoxRecord) {
  const [before, after] = [resourcesOf(record), resourcesOf(next)]
  const isWanted = next.desired.power === 'running'
  return {
    project: record.project,
    cpus: isWanted ? after.cpus - before.cpus : 0,
    ramMb: isWanted ? after.ramMb - before.ramMb : 0,
    storageGb: after.storageGb - before.storageGb,
  }
}

function isSettledAt({ observed }: BoxRecord, generation: number): boolean {
  return observed.generation >= generation && observed.status !== 'pending'
}

async function listBoxes(store: Store, page: NamedQuery, status: BoxListQuery['status']) {
  const found = await store.boxes.list({ ...page, status: status ?? null })
  return { records: found.records, next: nextNamedPage(found) }
}
