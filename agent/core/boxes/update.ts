import { isDeepStrictEqual } from 'node:util'
import type { UpdateBoxBody } from '../../../shared/schemas/boxes.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import { editRecord } from '../common/edit-record.ts'
import { checkEnvironment } from '../common/environment.ts'
import { readBox } from '../common/lookup.ts'
import { checkNesting } from '../common/nesting.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import { bytesOf, resizeTree } from '../common/sizes.ts'
import { limitsOf, sharesOf, unlessEnded } from '../reconcile/box-spec.ts'
import { checkNoRestore } from '../reconcile/pending-restore.ts'
import { type CreateDeps, checkCores, checkRegion, checkShares, resourcesOf } from './create.ts'
import { type BoxDefaults, settingsOf } from './record.ts'

export interface UpdateDeps extends CreateDeps {
  runtime: Runtime
}

/** An update, and its conditions. `check` gets the record before the change. */
export interface BoxUpdate {
  body: UpdateBoxBody
  waitMs: number
  ifMatch: string | null
  check(record: BoxRecord): void
}

/**
 * Updates a box. Applies the limits first, so that a refusal does not change the record. If it is interrupted before the record is
 * written, sets the limits back to the record.
 * @throws ServiceError the errors of `updatedRecord`, `below_use`, `quota_exceeded`, `box_busy`, `precondition_failed`
 */
export async function updateBox(
  deps: UpdateDeps,
  id: string,
  { body, waitMs, ifMatch, check }: BoxUpdate,
): Promise<BoxRecord> {
  const { store, reconciler, clock, admission, defaults } = deps
  const change = (isRunning: boolean): Promise<BoxRecord> => {
    return editRecord(clock, {
      read: () => readBox(store, { id }),
      edit: (record) => {
        checkIfMatch(ifMatch, record.version)
        check(record)
        checkNoRestore(record)
        const next = updatedRecord(record, body, defaults)
        if (next.config.nesting !== record.config.nesting) checkNesting(next, defaults.allowsNesting)
        return next
      },
      write: async (next, record) => {
        const growth = growthOf(record, next)
        await admission.check(growth)
        // Outside of the turn of admission, in which one box that does not answer would hold up all others.
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
      // The commit may have succeeded though it reported an error. Then the edge follows.
      reconciler.wake(id)
      throw error
    }
  }
  return reconciler.exclusive(id, turn, waitMs)
}

/**
 * Returns the record with the changes of `body`, in which null is the default of the deployment. The same object if nothing
 * changes. Pure.
 * @throws ServiceError `environment_reserved`, `invalid_request` for a foreign region or more than the host or deployment has
 */
export function updatedRecord(record: BoxRecord, body: UpdateBoxBody, defaults: BoxDefaults): BoxRecord {
  checkEnvironment(body.environment ?? {})
  checkRegion(body.config?.region, defaults.config.region)
  // A box of a larger host keeps what it has.
  if (body.config?.cpus !== record.config.cpus) checkCores(body.config?.cpus, defaults)
  checkShares(body.config, defaults.config)
  const changes = settingsOf(record, body, defaults)
  const isSame = Object.entries(changes).every(
    ([key, value]) => JSON.stringify(value) === JSON.stringify(record[key as keyof typeof changes]),
  )
  return isSame ? record : { ...record, ...changes }
}

async function restoreRoot({ store, filesystem }: UpdateDeps, id: string): Promise<void> {
  const record = await store.boxes.byId(id)
  // If this fails as well, the next start of the agent does it.
  if (record) await filesystem.setQuota(record.root, bytesOf(record.config.storage_gb)).catch(() => undefined)
}

async function applyConfig(
  { runtime, filesystem, defaults }: UpdateDeps,
  { record, next, isRunning }: { record: BoxRecord; next: BoxRecord; isRunning: boolean },
): Promise<void> {
  const { storage_gb: storageGb } = next.config
  const [before, after] = [record, next].map((each) => limitsOf(each, sharesOf(defaults.config)))
  if (isRunning && after && !isDeepStrictEqual(after, before)) await unlessEnded(runtime.resize(record.id, after))
  if (storageGb !== record.config.storage_gb)
    await resizeTree(filesystem, { name: record.root, what: '`storage_gb`: the box' }, storageGb)
}

function growthOf(record: BoxRecord, next: BoxRecord) {
  const [before, after] = [resourcesOf(record), resourcesOf(next)]
  const isWanted = next.desired.power === 'running'
  return {
    project: record.project,
    cpus: isWanted ? after.cpus - before.cpus : 0,
    ramMb: isWanted ? after.ramMb - before.ramMb : 0,
    storageGb: after.storageGb - before.storageGb,
    recordBytes: recordGrowth(record, next),
  }
}
