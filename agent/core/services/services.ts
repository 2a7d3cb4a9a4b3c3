import type { PutServiceBody, ServiceListQuery } from '../../../shared/schemas/services.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { Boxes, BoxRef } from '../boxes/boxes.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { instancesOf, lastRun, placesOf, runsOf } from '../common/service-instances.ts'
import { checkRunning } from '../exec/execs.ts'
import type { ObservedService } from './observer.ts'
import { putService } from './put.ts'
import { changeService, serviceNotFound, withChange } from './records.ts'
import type { ServiceSupervisor } from './supervisor.ts'
import { withoutNext, withoutPreview } from './switch.ts'
import { stateOf } from './view.ts'

export interface ServicesDeps {
  store: Store
  outputs: ExecOutputs
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  supervisor: ServiceSupervisor
}

/** A service by the names of its project, box and itself. */
export interface ServiceRef extends BoxRef {
  service: string
}

export interface ServiceHow {
  waitMs: number
  ifMatch: string | null
}

/** A service of a box, as far as it has come. */
export interface ServiceState {
  box: BoxRecord
  sight: ObservedService
}

/** The services of the API. All throw `box_not_found`, and `service_not_found` where one is meant that is there. */
export interface Services {
  /**
   * Defines a service, which is started if its box runs, or changes what the next start uses: nothing that runs is touched.
   * @throws ServiceError `environment_reserved`, `invalid_request` for needs that are not there, `quota_exceeded`
   */
  put(
    caller: Caller,
    ref: ServiceRef,
    wanted: { body: PutServiceBody; how: ServiceHow },
  ): Promise<ServiceState & { isNew: boolean }>
  get(ref: ServiceRef): Promise<ServiceState>
  list(
    ref: BoxRef,
    query: ServiceListQuery,
  ): Promise<{ box: BoxRecord; sights: ObservedService[]; next: string | null }>
  /** One that runs is left as it is. @throws ServiceError `box_not_running` */
  start(caller: Caller, ref: ServiceRef, how: ServiceHow): Promise<ServiceState>
  stop(caller: Caller, ref: ServiceRef, how: ServiceHow): Promise<ServiceState>
  /** Resolves once it is forgotten; its processes are killed. */
  remove(ref: ServiceRef, ifMatch: string | null): Promise<void>
}

/** Writes what is wanted, durably, and lets the supervisor bring it about. */
export function createServices(deps: ServicesDeps): Services {
  const { boxes, supervisor, clock } = deps
  const see = async (box: BoxRecord, name: string): Promise<ObservedService> => {
    const sight = await supervisor.see({ boxId: box.id, name })
    if (sight) return sight
    throw serviceNotFound(box, name)
  }
  const settle = async (box: BoxRecord, name: string, waitMs: number): Promise<ServiceState> => {
    supervisor.wake({ boxId: box.id, name })
    const sight = await supervisor.until({ boxId: box.id, name }, isSettled, waitMs)
    if (sight === null) throw serviceNotFound(box, name)
    return { box, sight }
  }
  const act = async (
    ref: ServiceRef,
    { waitMs, ifMatch }: ServiceHow,
    edit: (record: ServiceRecord, sight: ObservedService) => ServiceRecord,
  ): Promise<ServiceState> => {
    const box = await boxes.get(ref)
    const sight = await see(box, ref.service)
    await changeService(deps, { box, name: ref.service, ifMatch }, (record) => edit(record, sight))
    return settle(box, ref.service, waitMs)
  }
  return {
    put: async (caller, ref, { body, how }) => {
      const box = await boxes.get(ref)
      const isNew = await putService(deps, { caller, box, name: ref.service, body, ifMatch: how.ifMatch })
      if (isNew) return { ...(await settle(box, ref.service, how.waitMs)), isNew }
      supervisor.wake({ boxId: box.id, name: ref.service })
      return { box, sight: await see(box, ref.service), isNew }
    },
    get: async (ref) => {
      const box = await boxes.get(ref)
      return { box, sight: await see(box, ref.service) }
    },
    list: async (ref, query) => {
      const box = await boxes.get(ref)
      return { box, ...(await listServices(deps, box, query)) }
    },
    start: async (caller, ref, how) => {
      checkRunning(await boxes.get(ref))
      return act(ref, how, (record, { live }) => {
        const isUp = live !== null && !live.isEnding && live.ended === null
        if (isUp && record.desired === 'running') return record
        const wanted = { ...record, desired: 'running' as const, asked: record.asked + 1 }
        return withChange(wanted, { what: 'started', by: caller.tokenName, at: clock.now() })
      })
    },
    stop: (caller, ref, how) =>
      act(ref, how, (record) => {
        if (record.desired === 'stopped') return record
        const ending = withoutNext(withoutPreview({ ...record, desired: 'stopped' }))
        return withChange(ending, { what: 'stopped', by: caller.tokenName, at: clock.now() })
      }),
    remove: async (ref, ifMatch) => {
      const box = await boxes.get(ref)
      await removeService(deps, box, { name: ref.service, ifMatch })
    },
  }
}

async function listServices(
  { store, supervisor }: ServicesDeps,
  { id: boxId }: BoxRecord,
  query: ServiceListQuery,
): Promise<{ sights: ObservedService[]; next: string | null }> {
  const [after = ''] = decodeCursor(query.continuation_token, 1) ?? []
  const prefix = query.prefix ?? ''
  const all = (await store.services.of(boxId)).filter(({ name }) => name > after && name.startsWith(prefix))
  const page = all.slice(0, query.max_results)
  const sights = await Promise.all(page.map(({ name }) => supervisor.see({ boxId, name })))
  const next = all.length > page.length ? encodeCursor([page.at(-1)?.name ?? '']) : null
  return { sights: sights.filter((sight) => sight !== null), next }
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
    if (!(await store.services.remove(box.id, name, record.version))) continue
    supervisor.wake({ boxId: box.id, name }, { hurry: true })
    // That of a run that goes on is removed once it has ended; whatever is left is swept at the next start.
    const ended = new Set(runsOf(record).flatMap(({ execId, end }) => (end === null ? [] : [execId])))
    for (const place of placesOf(record))
      if (ended.has(place.execId)) await outputs.remove(place).catch(() => undefined)
    return
  }
}

/** Whether a service has come to rest at what was asked of it. */
function isSettled(sight: ObservedService): boolean {
  const { record, liveOf } = sight
  if (record.desired === 'stopped')
    return instancesOf(record).every((each) => liveOf(each) === null && lastRun(each)?.end !== null)
  const { state } = stateOf(sight)
  return state !== 'starting' && state !== 'stopping' && !['start', 'stop'].includes(sight.step.kind)
}
