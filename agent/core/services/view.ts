import type { ServiceView } from '../../../shared/schemas/services.ts'
import type { InstanceRecord } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { timestamp } from '../common/time.ts'
import { type EdgeAddress, hostOfPreview, hostOfService, urlOf } from '../common/urls.ts'
import { failureText } from './failures.ts'
import type { ObservedService } from './observer.ts'
import { endText, isRestarted } from './plan.ts'
import type { RunMonitor } from './run-monitor.ts'
import { viewSpec } from './spec.ts'
import { targetsOf } from './targets.ts'

interface State {
  state: ServiceView['state']
  message: string | null
}

interface PreviewState {
  state: NonNullable<ServiceView['preview']>['state']
  message: string | null
}

/** What a service is up to, and why. */
export function stateOf({ record, live, step, isBoxRunning }: ObservedService): State {
  if (live !== null && live.ended === null) {
    if (live.isEnding) return { state: 'stopping', message: null }
    return { state: live.isReady ? 'running' : 'starting', message: live.why }
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

/** What the preview of a service is up to, and why; null if it has none. */
export function previewStateOf(
  { record: { preview }, liveOf, isBoxRunning }: ObservedService,
  withOutput = false,
): PreviewState | null {
  if (preview === null) return null
  if (preview.failure !== null) return { state: 'failed', message: failureText(preview.failure, withOutput) }
  const live = liveOf(preview)
  if (live !== null && live.ended === null) return { state: live.isReady ? 'running' : 'starting', message: live.why }
  return isBoxRunning ? { state: 'starting', message: null } : { state: 'stopped', message: 'It starts with its box.' }
}

/** What whoever asks may see: environments, and what services wrote; and where URLs are. */
export interface ServiceSeen {
  environment: boolean
  output: boolean
  address: EdgeAddress
}

/** The Service of the API. */
export function viewService(box: BoxRecord, sight: ObservedService, seen: ServiceSeen): ServiceView {
  const { record, liveOf } = sight
  const { active, previous } = record
  const state = stateOf(sight)
  const preview = viewPreview(sight, seen)
  const failure = preview?.state === 'failed' ? `The preview failed. ${preview.message}` : null
  const targets = targetsOf(record)
  return {
    name: record.name,
    box: box.name,
    project: box.project,
    state: state.state,
    message: state.message ?? failure,
    spec: viewSpec(record.spec, seen.environment),
    active: active && { ...viewInstance(active, liveOf(active), seen), port: targets.active?.port ?? null },
    preview: preview && { ...preview, port: targets.preview?.port ?? null },
    previous: previous && viewInstance(previous, liveOf(previous), seen),
    active_url: targets.active && urlOf(hostOfService(box, record.name, seen.address), seen.address),
    preview_url: targets.preview && urlOf(hostOfPreview(box, record.name, seen.address), seen.address),
    published_domains: record.domains,
    generation: record.generation,
    history: record.history.map(({ at, ...change }) => ({ at: timestamp(at), ...change })),
    tags: record.tags,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}

function viewPreview(sight: ObservedService, seen: ServiceSeen): ServiceView['preview'] {
  const { preview } = sight.record
  const state = previewStateOf(sight, seen.output)
  if (preview === null || state === null) return null
  return {
    ...viewInstance(preview, sight.liveOf(preview), seen),
    ...state,
    isolation: preview.fork === null ? 'process' : 'fork',
  }
}

function viewInstance(
  { spec, port, runs, restarts }: InstanceRecord,
  live: RunMonitor | null,
  { environment }: ServiceSeen,
): NonNullable<ServiceView['active']> {
  const run = runs.at(-1)
  const isAlive = live !== null && live.ended === null
  const end = runs.findLast((each) => each.end !== null)?.end ?? null
  return {
    alive: isAlive,
    pid: isAlive ? live.held.process : null,
    port,
    spec: viewSpec(spec, environment),
    started_at: run === undefined ? null : timestamp(run.startedAt),
    restarts,
    health: isAlive ? live.health : 'unknown',
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
