import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { DEFINITION_BYTES, definitionBytes } from '../../../shared/schemas/common.ts'
import { DEFINITION_TOO_LONG, type DeployServiceBody } from '../../../shared/schemas/services.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { CandidateRecord, ForkRecord, InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Boxes } from '../boxes/boxes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { awaitCommit } from '../common/commit.ts'
import { bumped } from '../common/edit-record.ts'
import { checkEnvironment } from '../common/environment.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import type { StorageBounds } from '../common/storage-bounds.ts'
import { checkRunning } from '../exec/execs.ts'
import type { Forks } from './forks.ts'
import type { ObservedService } from './observer.ts'
import type { RunMonitor } from './run-monitor.ts'
import { changeService, type ServiceOptions, type ServiceRef, type ServiceState, serviceNotFound } from './services.ts'
import { previewStateOf } from './state.ts'
import type { ServiceSupervisor } from './supervisor.ts'
import type { Traffic } from './traffic.ts'
import {
  promoted,
  rolledBack,
  type SwitchOptions,
  withChange,
  withNext,
  withoutPreview,
  withPreview,
} from './versions.ts'

export interface DeploysDeps {
  store: Store
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  supervisor: ServiceSupervisor
  traffic: Pick<Traffic, 'settle'>
  forks: Forks
  admission: Admission
  bounds: Pick<StorageBounds, 'checkRoom'>
}

/**
 * Blue-green deployments: a preview runs beside the active version until it is promoted or discarded. All resolve once requests
 * are routed by the new record, and throw `box_not_found`, `service_not_found` and `precondition_failed`.
 */
export interface Deploys {
  /**
   * Starts a preview, which replaces the one before, and waits until it is ready or has failed.
   * @throws ServiceError `box_not_running`, `environment_reserved`, `invalid_request` for a version that says too
   * much, `quota_exceeded`, and for a preview in a fork `storage_full`
   */
  deploy(
    caller: Caller,
    ref: ServiceRef,
    request: { body: DeployServiceBody; options: ServiceOptions },
  ): Promise<ServiceState>
  /**
   * Makes the preview active at once. A preview in a fork is started in the box itself first, and waited for.
   * @throws ServiceError `no_preview`, `preview_not_ready`, `box_busy`, `quota_exceeded`
   */
  promote(caller: Caller, ref: ServiceRef, options: ServiceOptions): Promise<ServiceState>
  /**
   * Makes the previous version active again, at once if it still runs. Otherwise it is started first, and waited for.
   * @throws ServiceError `nothing_to_roll_back`, `preview_not_ready` if it does not become ready, `box_not_running`, `box_busy`,
   * `quota_exceeded`
   */
  rollback(caller: Caller, ref: ServiceRef, options: ServiceOptions): Promise<ServiceState>
  /** Ends the preview. @throws ServiceError `no_preview` */
  discard(caller: Caller, ref: ServiceRef, options: ServiceOptions): Promise<ServiceState>
}

/** Writes the versions of a service durably, and wakes the supervisor to bring them about. */
export function createDeploys(deps: DeploysDeps): Deploys {
  const { boxes, supervisor, traffic, forks, admission, clock } = deps
  const settle = async (box: BoxRecord, name: string, wait: Wait = NO_WAIT): Promise<ServiceState> => {
    const key = { boxId: box.id, name }
    supervisor.wake(key)
    const service = await awaitCommit(supervisor.until(key, wait.isDone, wait.ms), () => follow(deps, box.id))
    if (service === null) throw serviceNotFound(box, name)
    const failure = wait.awaitsNext ? service.record.next?.failure : null
    if (failure)
      throw refusal('preview_not_ready', [
        `${wait.awaitsNext} did not come up in the box. ${failure.why}`,
        'Read its log, and deploy another.',
      ])
    await traffic.settle(box.id)
    return { box, service }
  }
  const settleNext = (
    box: BoxRecord,
    name: string,
    wait: { ms: number; awaitsNext: string },
  ): Promise<ServiceState> => {
    const isDone = ({ record: { next } }: ObservedService): boolean => next === null || next.failure !== null
    return settle(box, name, { ...wait, isDone })
  }
  return {
    deploy: async (caller, ref, { body, options: { waitMs, ifMatch } }) => {
      checkEnvironment(body.env ?? {})
      const box = await boxes.get(ref)
      checkRunning(box)
      const write = (fork: ForkRecord | null): Promise<void> =>
        changeService(deps, { box, name: ref.service, ifMatch }, (record) => {
          checkLength(record, body)
          const deployed = withPreview(record, { ...previewOf(record, body), fork })
          return withChange(deployed, { what: 'deployed', by: caller.tokenName, at: clock.now() })
        })
      if (body.isolation === 'process') await write(null)
      else {
        const { cpus, ram_mb: ramMb } = box.config
        await admission.check({ project: box.project, cpus, ramMb })
        await deps.bounds.checkRoom(box.project)
        await forks.make(box, body.copy_data, write)
      }
      const isDone = (service: ObservedService): boolean => previewStateOf(service)?.state !== 'starting'
      return settle(box, ref.service, { isDone, ms: waitMs })
    },
    promote: async (caller, ref, { waitMs, ifMatch }) => {
      const box = await boxes.get(ref)
      await switchVersion(deps, { caller, box, name: ref.service, ifMatch }, promote)
      return settleNext(box, ref.service, { ms: waitMs, awaitsNext: 'The preview' })
    },
    rollback: async (caller, ref, { waitMs, ifMatch }) => {
      const box = await boxes.get(ref)
      await switchVersion(deps, { caller, box, name: ref.service, ifMatch }, (service, options) =>
        rollback(box, service, options),
      )
      return settleNext(box, ref.service, { ms: waitMs, awaitsNext: 'The version before' })
    },
    discard: async (caller, ref, { ifMatch }) => {
      const box = await boxes.get(ref)
      await changeService(deps, { box, name: ref.service, ifMatch, isFree: true }, (record) => {
        if (record.preview === null) throw noPreview(ref.service)
        return withChange(withoutPreview(record), { what: 'discarded', by: caller.tokenName, at: clock.now() })
      })
      return settle(box, ref.service)
    },
  }
}

interface Wait {
  isDone(service: ObservedService): boolean
  ms: number
  /** Names the version that is to become active, for the error if it fails. */
  awaitsNext?: string
}

interface Switch {
  caller: Caller
  box: BoxRecord
  name: string
  ifMatch: string | null
}

type CallerSwitchOptions = SwitchOptions & { by: string }

// Excludes steps of the supervisor. The observed state holds until the record is written, and no drain cuts off the connections of a
// version that becomes active again.
function switchVersion(
  deps: DeploysDeps,
  { caller, box, name, ifMatch }: Switch,
  edit: (service: ObservedService, options: CallerSwitchOptions) => ServiceRecord,
): Promise<void> {
  const { store, supervisor, clock, admission } = deps
  const key = { boxId: box.id, name }
  return supervisor.exclusive(key, async () => {
    for (;;) {
      const service = await supervisor.observe(key)
      if (service === null) throw serviceNotFound(box, name)
      checkIfMatch(ifMatch, service.record.version)
      const at = clock.now()
      const bytesOf = (instance: InstanceRecord): number => supervisor.bytesOf(key, instance)
      const edited = edit(service, { by: caller.tokenName, at, bytesOf })
      if (edited === service.record) return
      const growth = { project: box.project, recordBytes: recordGrowth(service.record, edited) }
      const doubt = (): void => {
        supervisor.wake(key)
        follow(deps, box.id)
      }
      const write = (): Promise<boolean> => awaitCommit(store.services.replace(bumped(edited, at)), doubt)
      if (await admission.admit(growth, write)) return
    }
  })
}

// Updates the routes from the record, which may have changed, without waiting. Retries until the routes are right.
function follow({ traffic }: Pick<DeploysDeps, 'traffic'>, boxId: string): void {
  traffic.settle(boxId).catch(() => undefined)
}

function promote(service: ObservedService, options: CallerSwitchOptions): ServiceRecord {
  const { record } = service
  if (record.next?.what === 'promoted' && record.next.failure === null) return record
  const preview = readyPreview(service)
  if (preview.fork === null) return promoted(record, preview, options)
  // A version that is ready in a fork has to become ready in the box itself.
  const { spec, readyMs } = preview
  return withNext(record, { spec, ...NEW_RUNS, readyMs, what: 'promoted', by: options.by })
}

function rollback(box: BoxRecord, service: ObservedService, options: CallerSwitchOptions): ServiceRecord {
  const { record, monitorOf } = service
  const { previous, next } = record
  if (next?.what === 'rolled_back' && next.failure === null) return record
  if (previous === null)
    throw refusal('nothing_to_roll_back', [`"${record.name}" has no previous version.`, 'Only a promote leaves one.'])
  // A stopped service stays stopped. Only the record is switched.
  if (isServing(monitorOf(previous)) || record.desired === 'stopped') return rolledBack(record, previous, options)
  checkRunning(box)
  const { spec } = previous
  return withNext(record, { spec, ...NEW_RUNS, readyMs: READY_MS, what: 'rolled_back', by: options.by })
}

function readyPreview(service: ObservedService): CandidateRecord {
  const { name, preview } = service.record
  if (preview === null) throw noPreview(name)
  if (preview.failure === null && isServing(service.monitorOf(preview))) return preview
  const why = previewStateOf(service)?.message
  throw refusal('preview_not_ready', [
    `The preview of "${name}" is not ready.${why ? ` ${why}` : ''}`,
    'Wait until it is, or deploy another.',
  ])
}

// A change that the record already has continues.
function checkLength({ spec }: ServiceRecord, { command = spec.command, env = spec.env }: DeployServiceBody): void {
  if (command === spec.command && env === spec.env) return
  if (definitionBytes(command, env, probeCommandOf(spec)) <= DEFINITION_BYTES) return
  throw invalidRequest([{ pointer: env === spec.env ? '/command' : '/env', detail: DEFINITION_TOO_LONG }])
}

function probeCommandOf({ readiness }: ServiceRecord['spec']): readonly string[] | undefined {
  return readiness?.probe.kind === 'command' ? readiness.probe.command : undefined
}

function previewOf({ spec }: ServiceRecord, body: DeployServiceBody): CandidateRecord {
  return {
    spec: { ...spec, command: body.command ?? spec.command, env: body.env ?? spec.env },
    ...NEW_RUNS,
    readyMs: body.ready_seconds * 1000,
  }
}

function isServing(run: RunMonitor | null): boolean {
  return run !== null && run.ended === null && !run.isEnding && run.isReady && run.health !== 'unhealthy'
}

function noPreview(name: string): ServiceError {
  return refusal('no_preview', [`The service "${name}" has no preview.`, 'Deploy one first.'])
}

const NEW_RUNS = { fork: null, port: null, runs: [], restarts: 0, failures: 0, failure: null }
const NO_WAIT: Wait = { isDone: () => true, ms: 0 }
/** For a rollback to a version that no longer runs. */
const READY_MS = 60_000
