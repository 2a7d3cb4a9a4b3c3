import type { ServiceSpecView, ServiceView } from '../../../shared/schemas/services.ts'
import { timestamp } from '../../../shared/time.ts'
import { type EdgeAddress, hostOfPreview, hostOfService, urlOf } from '../../core/common/urls.ts'
import type { LogPiece } from '../../core/services/logs.ts'
import type { ObservedService } from '../../core/services/observer.ts'
import type { RunMonitor } from '../../core/services/run-monitor.ts'
import { previewStateOf, stateOf } from '../../core/services/state.ts'
import { targetsOf } from '../../core/services/traffic.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { InstanceRecord, Readiness, ServiceSpec } from '../../ports/store/services.ts'
import { encodeOutput, type TextEncoding } from '../common/output.ts'

/** Selects whether a view shows environments and output, and has the address that URLs are made of. */
export interface ServiceViewOptions {
  withEnvironment: boolean
  withOutput: boolean
  address: EdgeAddress
}

/** Returns the service in the form of the API. */
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
    history: record.history.map(({ at, what, by, generation }) => {
      return { at: timestamp(at), action: what, actor: by, generation }
    }),
    tags: record.tags,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}

/** Returns a piece of a log in the form of the API, as text or base64. */
export function viewPiece({ offset, bytes, isTruncated }: LogPiece, encoding: TextEncoding) {
  const data = encodeOutput(bytes, encoding)
  return { offset, next_offset: offset + bytes.length, data, encoding, truncated: isTruncated }
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
  const { command, cwd, user, port, protocol = 'http', needs, restart, readiness } = spec
  return {
    ...{ command, env: withEnvironment ? spec.env : {}, cwd, user, port, protocol, needs, restart },
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
