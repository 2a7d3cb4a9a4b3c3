import { ServiceError } from '../../../shared/errors.ts'
import type { PutServiceBody } from '../../../shared/schemas/services.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ServiceRecord, ServiceSpec } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { boxGone } from '../common/box-lookup.ts'
import type { Caller } from '../common/caller.ts'
import { changeService, withChange } from './records.ts'
import { checkNeeds, specOf } from './spec.ts'

/** A service as somebody defines it. */
export interface PutService {
  caller: Caller
  box: BoxRecord
  name: string
  body: PutServiceBody
  ifMatch: string | null
}

/**
 * Stores a service: a new one, which is wanted to run, or what the next start of one uses. Whether it is new.
 * @throws ServiceError `box_not_found`, `environment_reserved`, `invalid_request`, `precondition_failed`, `quota_exceeded`, and
 * with If-Match `service_not_found`
 */
export async function putService(deps: { store: Store; clock: Clock }, asked: PutService): Promise<boolean> {
  const { store } = deps
  const { box, name, body, ifMatch } = asked
  const spec = specOf(body)
  const all = await store.services.of(box.id)
  checkNeeds(name, spec, all)
  const isNew = ifMatch === null && all.every((each) => each.name !== name)
  if (isNew && (await insert(deps, asked, spec))) return true
  await changeService(deps, asked, (record) => edit(record, asked, { spec, now: deps.clock.now() }))
  return false
}

async function insert(
  { store, clock }: { store: Store; clock: Clock },
  { caller, box, name, body }: PutService,
  spec: ServiceSpec,
): Promise<boolean> {
  const now = clock.now()
  const history = [{ at: now, what: 'created', by: caller.tokenName, generation: 1 }]
  const record: ServiceRecord = {
    ...{ boxId: box.id, name, version: 1, createdAt: now, updatedAt: now },
    ...{ spec, generation: 1, desired: 'running', asked: 1, domains: [], tags: body.tags ?? {}, history },
    ...{ active: null, preview: null, previous: null, next: null, retired: [] },
  }
  switch (await store.services.insert(record, SERVICES_MAX)) {
    case 'box_gone':
      throw boxGone(box)
    case 'too_many':
      throw new ServiceError('quota_exceeded', `The box "${box.name}" has ${SERVICES_MAX} services, the most it may.`)
    case 'name_taken':
      return false
    case 'stored':
      return true
  }
}

function edit(
  record: ServiceRecord,
  { body, caller }: PutService,
  { spec, now }: { spec: ServiceSpec; now: number },
): ServiceRecord {
  const tags = body.tags ?? record.tags
  if (JSON.stringify([spec, tags]) === JSON.stringify([record.spec, record.tags])) return record
  const next = { ...record, spec, tags, generation: record.generation + 1 }
  return withChange(next, { what: 'changed', by: caller.tokenName, at: now })
}

/** In a box. */
export const SERVICES_MAX = 64
