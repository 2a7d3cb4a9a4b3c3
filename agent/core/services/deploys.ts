import { ServiceError } from '../../../shared/errors.ts'
import type { DeployServiceBody } from '../../../shared/schemas/services.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CandidateRecord, ForkRecord, InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { Boxes } from '../boxes/boxes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { bumped } from '../common/edit-record.ts'
import { checkEnvironment } from '../common/environment.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { checkRunning } from '../exec/execs.ts'
import type { Forks } from './forks.ts'
import type { ObservedService } from './observer.ts'
import { changeService, serviceNotFound, withChange } from './records.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { ServiceHow, ServiceRef, ServiceState } from './services.ts'
import type { ServiceSupervisor } from './supervisor.ts'
import { promoted, rolledBack, type SwitchHow, withNext, withoutPreview, withPreview } from './switch.ts'
import { previewStateOf } from './view.ts'

export interface DeploysDeps {
  store: Store
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  supervisor: ServiceSupervisor
  forks: Forks
  admission: Admission
}

/**
 * New versions of services, beside those that have the traffic. All throw `box_not_found` and `service_not_found`.
 */
export interface Deploys {
  /**
   * Starts a preview, in the place of the one that is there, and waits until it is ready or has failed.
   * @throws ServiceError `box_not_running`, `environment_reserved`, and for one in a copy of the box `quota_exceeded`, `storage_full`
   */
  deploy(caller: Caller, ref: ServiceRef, wanted: { body: DeployServiceBody; how: ServiceHow }): Promise<ServiceState>
  /**
   * At once; one that runs in a copy of the box is started in the box first, and waited for.
   * @throws ServiceError `no_preview`, `preview_not_ready`, `box_busy`
   */
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
  const { boxes, supervisor, forks, admission, clock } = deps
  const settle = async (box: BoxRecord, name: string, wait: Wait = NO_WAIT): Promise<ServiceState> => {
    const key = { boxId: box.id, name }
    supervisor.wake(key)
    const sight = await supervisor.until(key, wait.isDone, wait.ms)
    if (sight === null) throw serviceNotFound(box, name)
    return { box, sight }
  }
  const arrive = async (
    box: BoxRecord,
    name: string,
    wait: { waitMs: number; what: string },
  ): Promise<ServiceState> => {
    const isDone = ({ record: { next } }: ObservedService): boolean => next === null || next.failure !== null
    const state = await settle(box, name, { isDone, ms: wait.waitMs })
    const failure = state.sight.record.next?.failure
    if (!failure) return state
    throw new ServiceError('preview_not_ready', `${wait.what} did not come up in the box. ${failure.why}`)
  }
  return {
    deploy: async (caller, ref, { body, how }) => {
      checkEnvironment(body.env ?? {})
      const box = await boxes.get(ref)
      checkRunning(box)
      const write = (fork: ForkRecord | null): Promise<void> =>
        changeService(deps, { box, name: ref.service, ifMatch: how.ifMatch }, (record) => {
          const deployed = withPreview(record, { ...previewOf(record, body), fork })
          return withChange(deployed, { what: 'deployed', by: caller.tokenName, at: clock.now() })
        })
      if (body.isolation === 'process') await write(null)
      else {
        const { cpus, ram_mb: ramMb } = box.config
        await admission.check({ project: box.project, cpus, ramMb })
        await forks.make(box, body.snapshot, write)
      }
      const isDone = (sight: ObservedService): boolean => previewStateOf(sight)?.state !== 'starting'
      return settle(box, ref.service, { isDone, ms: how.waitMs })
    },
    promote: async (caller, ref, how) => {
      const box = await boxes.get(ref)
      await switchNow(deps, { caller, box, name: ref.service, ifMatch: how.ifMatch }, (sight, switching) =>
        promote({ sight, name: ref.service, by: caller.tokenName }, switching),
      )
      return arrive(box, ref.service, { waitMs: how.waitMs, what: 'The preview' })
    },
    rollback: async (caller, ref, how) => {
      const box = await boxes.get(ref)
      await switchNow(deps, { caller, box, name: ref.service, ifMatch: how.ifMatch }, (sight, switching) =>
        rollback({ box, sight, by: caller.tokenName }, switching),
      )
      return arrive(box, ref.service, { waitMs: how.waitMs, what: 'The version before' })
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
  isDone(sight: ObservedService): boolean
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
  edit: (sight: ObservedService, how: SwitchHow) => ServiceRecord,
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
    ...NEW_RUNS,
    readyMs: body.ready_seconds * 1000,
  }
}

// What ran in a copy of the box is to be ready in the box itself first.
function promote(
  { sight, name, by }: { sight: ObservedService; name: string; by: string },
  how: SwitchHow,
): ServiceRecord {
  const { record } = sight
  if (record.next?.what === 'promoted' && record.next.failure === null) return record
  const preview = readyPreview(sight, name)
  if (preview.fork === null) return promoted(record, preview, how)
  const { spec, readyMs } = preview
  return withNext(record, { spec, ...NEW_RUNS, readyMs, what: 'promoted', by })
}

function readyPreview(sight: ObservedService, name: string): CandidateRecord {
  const { preview } = sight.record
  if (preview === null) throw noPreview(name)
  if (preview.failure === null && isServing(sight.liveOf(preview))) return preview
  const why = previewStateOf(sight)?.message
  throw new ServiceError('preview_not_ready', `The preview of "${name}" is not ready.${why ? ` ${why}` : ''}`)
}

function rollback(
  { box, sight, by }: { box: BoxRecord; sight: ObservedService; by: string },
  how: SwitchHow,
): ServiceRecord {
  const { record, liveOf } = sight
  const { previous, next } = record
  // The same was asked for already.
  if (next?.what === 'rolled_back' && next.failure === null) return record
  if (previous === null) throw new ServiceError('nothing_to_roll_back', `"${record.name}" has no version before.`)
  // Of one that was stopped nothing is started.
  if (isServing(liveOf(previous)) || record.desired === 'stopped') return rolledBack(record, previous, how)
  checkRunning(box)
  return withNext(record, { spec: previous.spec, ...NEW_RUNS, readyMs: READY_MS, what: 'rolled_back', by })
}

function isServing(live: RunMonitor | null): boolean {
  return live !== null && live.ended === null && !live.isEnding && live.isReady && live.health !== 'unhealthy'
}

function noPreview(name: string): ServiceError {
  return new ServiceError('no_preview', `The service "${name}" has no preview.`)
}

const NEW_RUNS = { fork: null, port: null, runs: [], restarts: 0, failures: 0, failure: null }
const NO_WAIT: Wait = { isDone: () => true, ms: 0 }
const READY_MS = 60_000
