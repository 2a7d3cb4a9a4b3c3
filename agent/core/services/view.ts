import type { ServiceSpecView, ServiceView } from '../../../shared/schemas/services.ts'
import type { CandidateRecord, InstanceRecord, Readiness, ServiceSpec } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { timestamp } from '../common/time.ts'
import { type EdgeAddress, hostOfPreview, hostOfService, urlOf } from '../common/urls.ts'
import type { ObservedService } from './observer.ts'
import { endText, isRestarted } from './plan.ts'
import type { RunMonitor } from './run-monitor.ts'
import { targetsOf } from './traffic.ts'

interface State {
  state: ServiceView['state']
  message: string | null
}

interface PreviewState {
  state: NonNullable<ServiceView['preview']>['state']
  message: string | null
}

/** Tells the state of a service, and the reason. */
export function stateOf({ record, monitor, step, isBoxRunning }: ObservedService): State {
  if (monitor !== null && monitor.ended === null) {
    if (monitor.isEnding) return { state: 'stopping', message: null }
    return { state: monitor.isReady ? 'running' : 'starting', message: monitor.why }
  }
  if (record.desired === 'stopped') return { state: 'stopped', message: null }
  if (!isBoxRunning) return { state: 'stopped', message: 'It starts with its box.' }
  if (step.kind === 'blocked') return { state: 'starting', message: `It waits for ${step.by.join(', ')}.` }
  const end = record.active?.runs.at(-1)?.end
  if (!end || (step.kind === 'start' && step.isFresh)) return { state: 'starting', message: null }
  const how = endText(end)
  if (isRestarted(record.spec, end)) return { state: 'failed', message: `${how} It is started again.` }
  return { state: end.exitCode === 0 ? 'stopped' : 'failed', message: how }
}

/** Tells the state of a service's preview, and the reason; null if it has none. */
export function previewStateOf(
  { record: { preview }, monitorOf, isBoxRunning }: ObservedService,
  withOutput = false,
): PreviewState | null {
  if (preview === null) return null
  if (preview.failure !== null) return { state: 'failed', message: failureText(preview.failure, withOutput) }
  const run = monitorOf(preview)
  if (run !== null && run.ended === null) return { state: run.isReady ? 'running' : 'starting', message: run.why }
  return isBoxRunning ? { state: 'starting', message: null } : { state: 'stopped', message: 'It starts with its box.' }
}

/** Selects what a view shows: environments, and output; and the address that URLs are made of. */
export interface ServiceViewOptions {
  withEnvironment: boolean
  withOutput: boolean
  address: EdgeAddress
}

/** Makes the Service of the API. */
export function viewService(box: BoxRecord, service: ObservedService, options: ServiceViewOptions): ServiceView {
  const { record, monitorOf } = service
  const { active, previous } = record
  const state = stateOf(service)
  const preview = viewPreview(service, options)
  const failure = preview?.state === 'failed' ? `The preview failed. ${preview.message}` : null
  const targets = targetsOf(record)
  return {
    name: record.name,
    box: box.name,
    project: box.project,
    state: state.state,
    message: state.message ?? failure,
    spec: viewSpec(record.spec, options.withEnvironment),
    active: active && { ...viewInstance(active, monitorOf(active), options), port: targets.active?.port ?? null },
    preview: preview && { ...preview, port: targets.preview?.port ?? null },
    previous: previous && viewInstance(previous, monitorOf(previous), options),
    active_url: targets.active && urlOf(hostOfService(box, record.name, options.address), options.address),
    preview_url: targets.preview && urlOf(hostOfPreview(box, record.name, options.address), options.address),
    published_domains: record.domains,
    generation: record.generation,
    history: record.history.map(({ at, ...change }) => ({ at: timestamp(at), ...change })),
    tags: record.tags,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}

function viewPreview(service: ObservedService, options: ServiceViewOptions): ServiceView['preview'] {
  const { preview } = service.record
  const state = previewStateOf(service, options.withOutput)
  if (preview === null || state === null) return null
  return {
    ...viewInstance(preview, service.monitorOf(preview), options),
    ...state,
    isolation: preview.fork === null ? 'process' : 'fork',
  }
}

function viewInstance(
  { spec, port, runs, restarts }: InstanceRecord,
  monitor: RunMonitor | null,
  { withEnvironment }: ServiceViewOptions,
): NonNullable<ServiceView['active']> {
  const run = runs.at(-1)
  const isAlive = monitor !== null && monitor.ended === null
  const end = runs.findLast((each) => each.end !== null)?.end ?? null
  return {
    alive: isAlive,
    pid: isAlive ? monitor.exec.process : null,
    port,
    spec: viewSpec(spec, withEnvironment),
    started_at: run === undefined ? null : timestamp(run.startedAt),
    restarts,
    health: isAlive ? monitor.health : 'unknown',
    last_exit:
      end === null
        ? null
        : {
            exit_code: end.exitCode,
            signal: end.signal,
            out_of_memory: end.outOfMemory,
            at: timestamp(end.endedAt),
          },
  }
}

// Leaves the environment out unless the caller may write.
function viewSpec(spec: ServiceSpec, withEnvironment: boolean): ServiceSpecView {
  const { command, cwd, user, port, needs, restart, readiness } = spec
  return {
    ...{ command, env: withEnvironment ? spec.env : {}, cwd, user, port, needs, restart },
    readiness: readiness === null ? null : viewReadiness(readiness),
    stop_signal: spec.stopSignal,
    grace_seconds: spec.graceSeconds,
  }
}

function viewReadiness({ probe, intervalMs, timeoutMs, threshold }: Readiness): Record<string, unknown> {
  const rest = { interval_seconds: intervalMs / 1000, timeout_seconds: timeoutMs / 1000, threshold }
  if (probe.kind === 'http') return { http: probe.path, ...rest }
  return probe.kind === 'tcp' ? { tcp: true, ...rest } : { command: probe.command, ...rest }
}

function failureText({ why, output }: NonNullable<CandidateRecord['failure']>, withOutput: boolean): string {
  return withOutput && output !== '' ? `${why} Its last lines:\n${output}` : why
}
