import { ServiceError } from '../../../shared/errors.ts'
import { quotaExceeded } from '../../../shared/refusals.ts'
import type { PutServiceBody, ServiceListQuery } from '../../../shared/schemas/services.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ServiceRecord, ServiceSpec } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Boxes, BoxRef } from '../boxes/boxes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { awaitCommit } from '../common/commit.ts'
import { editRecord } from '../common/edit-record.ts'
import { boxGone } from '../common/lookup.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import { instancesOf, lastRun, outputRefsOf, runsOf } from '../common/service-instances.ts'
import { checkRunning } from '../exec/execs.ts'
import type { ObservedService } from './observer.ts'
import { checkNeeds, specOf } from './spec.ts'
import { stateOf } from './state.ts'
import type { ServiceSupervisor } from './supervisor.ts'
import type { Traffic } from './traffic.ts'
import { withChange, withoutNext, withoutPreview } from './versions.ts'

export interface ServicesDeps {
  store: Store
  outputs: ExecOutputs
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  supervisor: ServiceSupervisor
  traffic: Pick<Traffic, 'settle'>
  admission: Admission
}

/** A service by the names of its project, its box and its own. */
export interface ServiceRef extends BoxRef {
  service: string
}

/** How long to wait for the effect of a request, in ms, and the version that it requires. Null for any version. */
export interface ServiceOptions {
  waitMs: number
  ifMatch: string | null
}

/** A service as it was observed when its request was answered. */
export interface ServiceState {
  box: BoxRecord
  service: ObservedService
}

/** The services of the API. All throw `box_not_found`, and `service_not_found` where the service has to exist. */
export interface Services {
  /**
   * Defines a service and starts it if its box runs, or changes the spec that its next start uses, which touches nothing that
   * runs. Resolves once requests are routed by the new record.
   * @throws ServiceError `environment_reserved`, `invalid_request` for needs that do not exist, `precondition_failed`,
   * `quota_exceeded`
   */
  put(
    caller: Caller,
    ref: ServiceRef,
    request: { body: PutServiceBody; options: ServiceOptions },
  ): Promise<ServiceState & { isNew: boolean }>
  get(ref: ServiceRef): Promise<ServiceState>
  list(
    ref: BoxRef,
    query: ServiceListQuery,
  ): Promise<{ box: BoxRecord; services: ObservedService[]; next: string | null }>
  /** Does not change a running service. @throws ServiceError `box_not_running`, `quota_exceeded` */
  start(caller: Caller, ref: ServiceRef, options: ServiceOptions): Promise<ServiceState>
  stop(caller: Caller, ref: ServiceRef, options: ServiceOptions): Promise<ServiceState>
  /** Removes the record and kills the processes. Resolves once the record is gone and requests are routed without it. */
  remove(ref: ServiceRef, ifMatch: string | null): Promise<void>
}

/** Writes the desired state durably, and wakes the supervisor to bring it about. */
export function createServices(deps: ServicesDeps): Services {
  const { boxes, supervisor, traffic, clock } = deps
  const observe = async (box: BoxRecord, name: string): Promise<ObservedService> => {
    const service = await supervisor.observe({ boxId: box.id, name })
    if (service) return service
    throw serviceNotFound(box, name)
  }
  const settle = async (box: BoxRecord, name: string, waitMs: number): Promise<ServiceState> => {
    supervisor.wake({ boxId: box.id, name })
    const service = await supervisor.until({ boxId: box.id, name }, isSettled, waitMs)
    if (service === null) throw serviceNotFound(box, name)
    return { box, service }
  }
  const change = async (
    ref: ServiceRef,
    { waitMs, ifMatch, isFree }: ServiceOptions & { isFree?: boolean },
    edit: (record: ServiceRecord, service: ObservedService) => ServiceRecord,
  ): Promise<ServiceState> => {
    const box = await boxes.get(ref)
    const service = await observe(box, ref.service)
    await changeService(deps, { box, name: ref.service, ifMatch, isFree }, (record) => edit(record, service))
    return settle(box, ref.service, waitMs)
  }
  const put = async (box: BoxRecord, request: PutService, waitMs: number) => {
    const { name } = request
    const isNew = await putService(deps, request)
    if (isNew) return { ...(await settle(box, name, waitMs)), isNew }
    supervisor.wake({ boxId: box.id, name })
    return { box, service: await observe(box, name), isNew }
  }
  return {
    put: async (caller, ref, { body, options: { waitMs, ifMatch } }) => {
      const box = await boxes.get(ref)
      const state = await put(box, { caller, box, name: ref.service, body, ifMatch }, waitMs)
      await traffic.settle(box.id)
      return state
    },
    get: async (ref) => {
      const box = await boxes.get(ref)
      return { box, service: await observe(box, ref.service) }
    },
    list: async (ref, query) => {
      const box = await boxes.get(ref)
      return { box, ...(await listServices(deps, box, query)) }
    },
    start: async (caller, ref, options) => {
      checkRunning(await boxes.get(ref))
      return change(ref, options, (record, { monitor }) => {
        const isUp = monitor !== null && !monitor.isEnding && monitor.ended === null
        if (isUp && record.desired === 'running') return record
        const started = { ...record, desired: 'running' as const, asked: record.asked + 1 }
        return withChange(started, { what: 'started', by: caller.tokenName, at: clock.now() })
      })
    },
    stop: async (caller, ref, options) => {
      const state = await change(ref, { ...options, isFree: true }, (record) => {
        if (record.desired === 'stopped') return record
        const stopped = withoutNext(withoutPreview({ ...record, desired: 'stopped' }))
        return withChange(stopped, { what: 'stopped', by: caller.tokenName, at: clock.now() })
      })
      await traffic.settle(state.box.id)
      return state
    },
    remove: async (ref, ifMatch) => {
      const box = await boxes.get(ref)
      await removeService(deps, box, { name: ref.service, ifMatch })
      await traffic.settle(box.id)
    },
  }
}

/** A change of the record of a service. With `isFree` it may get longer whatever is kept already. */
interface RecordChange {
  box: BoxRecord
  name: string
  ifMatch: string | null
  isFree?: boolean | undefined
}

/**
 * Replaces the record by what `edit` makes of its newest version, again while other writes intervene. `edit` returns the same
 * object to write nothing.
 * @throws ServiceError `service_not_found`, `precondition_failed`, `quota_exceeded`
 */
export async function changeService(
  { store, clock, admission, supervisor }: Pick<ServicesDeps, 'store' | 'clock' | 'admission' | 'supervisor'>,
  { box, name, ifMatch, isFree = false }: RecordChange,
  edit: (record: ServiceRecord) => ServiceRecord,
): Promise<void> {
  await editRecord(clock, {
    read: async () => {
      const record = await store.services.get(box.id, name)
      if (record === null) throw serviceNotFound(box, name)
      return record
    },
    edit: (record) => {
      checkIfMatch(ifMatch, record.version)
      return edit(record)
    },
    write: (next, record) => {
      const recordBytes = isFree ? 0 : recordGrowth(record, next)
      const write = (): Promise<boolean> =>
        awaitCommit(store.services.replace(next), () => supervisor.wake({ boxId: box.id, name }))
      return admission.admit({ project: box.project, recordBytes }, write)
    },
  })
}

/** Returns the error `service_not_found`. */
export function serviceNotFound(box: Pick<BoxRecord, 'name'>, name: string): ServiceError {
  return new ServiceError('service_not_found', `The box "${box.name}" has no service named "${name}".`)
}

interface PutService {
  caller: Caller
  box: BoxRecord
  name: string
  body: PutServiceBody
  ifMatch: string | null
}

// Returns true if the service is new.
async function putService(deps: ServicesDeps, request: PutService): Promise<boolean> {
  const { box, name, body, ifMatch } = request
  const spec = specOf(body)
  const all = await deps.store.services.of(box.id)
  checkNeeds(name, spec, all)
  const isNew = ifMatch === null && all.every((each) => each.name !== name)
  if (isNew && (await insertService(deps, request, spec))) return true
  await changeService(deps, request, (record) => {
    const tags = body.tags ?? record.tags
    if (JSON.stringify([spec, tags]) === JSON.stringify([record.spec, record.tags])) return record
    const next = { ...record, spec, tags, generation: record.generation + 1 }
    return withChange(next, { what: 'changed', by: request.caller.tokenName, at: deps.clock.now() })
  })
  return false
}

// Returns false if the name is taken.
async function insertService(
  { store, clock, admission, supervisor }: ServicesDeps,
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
  const growth = { project: box.project, recordBytes: recordGrowth(null, record) }
  const insert = (): ReturnType<Store['services']['insert']> =>
    awaitCommit(store.services.insert(record, SERVICES_MAX), () => supervisor.wake({ boxId: box.id, name }))
  switch (await admission.admit(growth, insert)) {
    case 'box_gone':
      throw boxGone(box)
    case 'too_many':
      throw quotaExceeded(
        `The box "${box.name}" has ${SERVICES_MAX} services, the most allowed.`,
        'Delete one, or use another box.',
      )
    case 'name_taken':
      return false
    case 'stored':
      return true
  }
}

async function listServices(
  { store, supervisor }: ServicesDeps,
  { id: boxId }: BoxRecord,
  query: ServiceListQuery,
): Promise<{ services: ObservedService[]; next: string | null }> {
  const [after = ''] = decodeCursor(query.continuation_token, 1) ?? []
  const page = { prefix: query.prefix ?? '', after, limit: query.max_results }
  const { names, hasMore } = await store.services.names(boxId, page)
  const services = await Promise.all(names.map((name) => supervisor.observe({ boxId, name })))
  const next = hasMore ? encodeCursor([names.at(-1) ?? '']) : null
  return { services: services.filter((service) => service !== null), next }
}

async function removeService(
  { store, supervisor, outputs }: ServicesDeps,
  box: BoxRecord,
  { name, ifMatch }: { name: string; ifMatch: string | null },
): Promise<void> {
  for (;;) {
    const record = await store.services.get(box.id, name)
    if (record === null) throw serviceNotFound(box, name)
    checkIfMatch(ifMatch, record.version)
    const end = (): void => supervisor.wake({ boxId: box.id, name }, { killNow: true })
    if (!(await awaitCommit(store.services.remove(box.id, name, record.version), end))) continue
    end()
    // The supervisor removes the output of a live run once the run has ended. The next start sweeps the rest.
    const ended = new Set(runsOf(record).flatMap(({ execId, end }) => (end === null ? [] : [execId])))
    for (const output of outputRefsOf(record))
      if (ended.has(output.execId)) await outputs.remove(output).catch(() => undefined)
    return
  }
}

/** Returns true once a service has reached its desired state, or has failed to. */
function isSettled(service: ObservedService): boolean {
  const { record, monitorOf } = service
  if (record.desired === 'stopped')
    return instancesOf(record).every((each) => monitorOf(each) === null && lastRun(each)?.end !== null)
  const { state } = stateOf(service)
  return state !== 'starting' && state !== 'stopping' && !['start', 'stop'].includes(service.step.kind)
}

/** Services per box. */
export const SERVICES_MAX = 64
