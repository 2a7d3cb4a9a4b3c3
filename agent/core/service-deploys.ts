import { ServiceError } from '../../shared/errors.ts'
import type { DeployServiceBody } from '../../shared/schemas/services.ts'
import type { Clock } from '../ports/clock.ts'
import type { CandidateRecord, InstanceRecord, ServiceRecord } from '../ports/service-store.ts'
import type { BoxRecord, Store } from '../ports/store.ts'
import type { Boxes } from './boxes.ts'
import type { Caller } from './caller.ts'
import { checkEnvironment } from './environment.ts'
import { checkRunning } from './execs.ts'
import { checkIfMatch } from './preconditions.ts'
import type { LiveRun } from './service-live.ts'
import { bumped, changeService, serviceNotFound, withChange } from './service-records.ts'
import type { ServiceSight, ServiceSupervisor } from './service-supervisor.ts'
import { promoted, rolledBack, type SwitchHow, withNext, withoutPreview, withPreview } from './service-switch.ts'
import type { Traffic } from './service-traffic.ts'
import { previewStateOf } from './service-view.ts'
import type { ServiceHow, ServiceRef, ServiceState } from './services.ts'

export interface DeploysDeps {
  store: Store
  clock: Clock
  traffic: Traffic
  boxes: Pick<Boxes, 'get'>
  supervisor: ServiceSupervisor
}

/**
 * New versions of services, beside those that have the traffic. All throw `box_not_found` and `service_not_found`; where a version
 * takes the place of another, all requests go to it before the answer.
 */
export interface Deploys {
  /**
   * Starts a preview, in the place of the one that is there, and waits until it is ready or has failed.
   * @throws ServiceError `box_not_running`, `environment_reserved`
   */
  deploy(caller: Caller, ref: ServiceRef, wanted: { body: DeployServiceBody; how: ServiceHow }): Promise<ServiceState>
  /** @throws ServiceError `no_preview`, `preview_not_ready`, `box_busy` */
  promote(caller: Caller, ref: ServiceRef, how: ServiceHow): Promise<ServiceState>
  /**
   * At once where the version before still runs; else it is started first, and waited for.
   * @throws ServiceError `nothing_to_roll_back`, `preview_not_ready` if it does not come up, `box_not_running`, `box_busy`
   */
  rollback(caller: Caller, ref: ServiceRef, how: ServiceHow): Promise<ServiceState>
  /** @throws ServiceError `no_preview` */
  discard(caller: Caller, ref: ServiceRef, how: ServiceHow): Promise<ServiceState>
}

/** Writes which versions there are to be, durably, and lets the supervisor bring it about. */
export function createDeploys(deps: DeploysDeps): Deploys {
  const { boxes, supervisor, traffic, clock } = deps
  const settle = async (box: BoxRecord, name: string, wait: Wait = NO_WAIT): Promise<ServiceState> => {
    const key = { boxId: box.id, name }
    supervisor.wake(key)
    const sight = await supervisor.until(key, wait.isDone, wait.ms)
    await traffic.settle(box.id)
    if (sight === null) throw serviceNotFound(box, name)
    return { box, sight }
  }
  return {
    deploy: async (caller, ref, { body, how }) => {
      checkEnvironment(body.env ?? {})
      const box = await boxes.get(ref)
      checkRunning(box)
      await changeService(deps, { box, name: ref.service, ifMatch: how.ifMatch }, (record) => {
        const deployed = withPreview(record, previewOf(record, body))
        return withChange(deployed, { what: 'deployed', by: caller.tokenName, at: clock.now() })
      })
      const isDone = (sight: ServiceSight): boolean => previewStateOf(sight)?.state !== 'starting'
      return settle(box, ref.service, { isDone, ms: how.waitMs })
    },
    promote: async (caller, ref, how) => {
      const box = await boxes.get(ref)
      await switchNow(deps, { caller, box, name: ref.service, ifMatch: how.ifMatch }, (sight, switching) =>
        promoted(sight.record, readyPreview(sight, ref.service), switching),
      )
      return settle(box, ref.service)
    },
    rollback: async (caller, ref, how) => {
      const box = await boxes.get(ref)
      await switchNow(deps, { caller, box, name: ref.service, ifMatch: how.ifMatch }, (sight, switching) =>
        rollback({ box, sight, by: caller.tokenName }, switching),
      )
      const isDone = ({ record: { next } }: ServiceSight): boolean => next === null || next.failure !== null
      const state = await settle(box, ref.service, { isDone, ms: how.waitMs })
      const failure = state.sight.record.next?.failure
      if (failure) throw new ServiceError('preview_not_ready', `The version before did not come up. ${failure.why}`)
      return state
    },
    discard: async (caller, ref, how) => {
      const box = await boxes.get(ref)
      await changeService(deps, { box, name: ref.service, ifMatch: how.ifMatch }, (record) => {
        if (record.preview === null) throw noPreview(ref.service)
        return withChange(withoutPreview(record), { what: 'discarded', by: caller.tokenName, at: clock.now() })
      })
      return settle(box, ref.service)
    },
  }
}

interface Wait {
  isDone(sight: ServiceSight): boolean
  ms: number
}

interface Switching {
  caller: Caller
  box: BoxRecord
  name: string
  ifMatch: string | null
}

// Alone: what the versions are up to stays as it was seen, and no connection of one that comes back is cut off.
function switchNow(
  { store, supervisor, clock }: DeploysDeps,
  { caller, box, name, ifMatch }: Switching,
  edit: (sight: ServiceSight, how: SwitchHow) => ServiceRecord,
): Promise<void> {
  const key = { boxId: box.id, name }
  return supervisor.exclusive(key, async () => {
    for (;;) {
      const sight = await supervisor.see(key)
      if (sight === null) throw serviceNotFound(box, name)
      checkIfMatch(ifMatch, sight.record.version)
      const at = clock.now()
      const bytesOf = (instance: InstanceRecord): number => supervisor.bytesOf(key, instance)
      const edited = edit(sight, { by: caller.tokenName, at, bytesOf })
      if (edited === sight.record || (await store.services.replace(bumped(edited, at)))) return
    }
  })
}

function previewOf({ spec }: ServiceRecord, body: DeployServiceBody): CandidateRecord {
  return {
    spec: { ...spec, command: body.command ?? spec.command, env: body.env ?? spec.env },
    ...{ port: null, runs: [], restarts: 0, failures: 0 },
    ...{ readyMs: body.ready_seconds * 1000, failure: null },
  }
}

function readyPreview(sight: ServiceSight, name: string): CandidateRecord {
  const { preview } = sight.record
  if (preview === null) throw noPreview(name)
  if (preview.failure === null && isServing(sight.liveOf(preview))) return preview
  const why = previewStateOf(sight)?.message
  throw new ServiceError('preview_not_ready', `The preview of "${name}" is not ready.${why ? ` ${why}` : ''}`)
}

function rollback(
  { box, sight, by }: { box: BoxRecord; sight: ServiceSight; by: string },
  how: SwitchHow,
): ServiceRecord {
  const { record, liveOf } = sight
  const { previous, next } = record
  // The same was asked for already.
  if (next !== null && next.failure === null) return record
  if (previous === null) throw new ServiceError('nothing_to_roll_back', `"${record.name}" has no version before.`)
  // Of one that was stopped nothing is started.
  if (isServing(liveOf(previous)) || record.desired === 'stopped') return rolledBack(record, previous, how)
  checkRunning(box)
  const { spec } = previous
  const fresh = { spec, port: null, runs: [], restarts: 0, failures: 0, readyMs: READY_MS, failure: null }
  return withNext(record, { ...fresh, what: 'rolled_back', by })
}

function isServing(live: LiveRun | null): boolean {
  return live !== null && live.ended === null && !live.isEnding && live.isReady && live.health !== 'unhealthy'
}

function noPreview(name: string): ServiceError {
  return new ServiceError('no_preview', `The service "${name}" has no preview.`)
}

const NO_WAIT: Wait = { isDone: () => true, ms: 0 }
const READY_MS = 60_000
