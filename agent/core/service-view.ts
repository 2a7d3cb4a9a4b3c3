import type { ServiceView } from '../../shared/schemas/services.ts'
import type { BoxRecord } from '../ports/store.ts'
import { timestamp } from './box-view.ts'
import { isRestarted } from './service-plan.ts'
import { viewSpec } from './service-spec.ts'
import type { ServiceSight } from './service-supervisor.ts'

interface State {
  state: ServiceView['state']
  message: string | null
}

/** What a service is up to, and why. */
export function stateOf({ record, live, step, isBoxRunning }: ServiceSight): State {
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

/** The Service of the API; environments are shown to those who may write. */
export function viewService(box: BoxRecord, sight: ServiceSight, withEnvironment: boolean): ServiceView {
  const { record } = sight
  return {
    name: record.name,
    box: box.name,
    project: box.project,
    ...stateOf(sight),
    spec: viewSpec(record.spec, withEnvironment),
    active: viewActive(sight, withEnvironment),
    preview: null,
    active_url: null,
    preview_url: null,
    published_domains: [],
    generation: record.generation,
    history: record.history.map(({ at, ...change }) => ({ at: timestamp(at), ...change })),
    tags: record.tags,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}

function viewActive({ record: { active }, live }: ServiceSight, withEnvironment: boolean): ServiceView['active'] {
  if (active === null) return null
  const run = active.runs.at(-1)
  const isAlive = live !== null && live.ended === null
  const end = active.runs.findLast((each) => each.end !== null)?.end ?? null
  return {
    alive: isAlive,
    pid: isAlive ? live.held.process : null,
    port: active.spec.port,
    spec: viewSpec(active.spec, withEnvironment),
    started_at: run === undefined ? null : timestamp(run.startedAt),
    restarts: active.restarts,
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

function endText({
  exitCode,
  signal,
  outOfMemory,
}: {
  exitCode: number | null
  signal: string | null
  outOfMemory: boolean
}) {
  if (outOfMemory) return 'It ran out of memory.'
  if (exitCode !== null) return `It ended with exit code ${exitCode}.`
  return signal === null ? 'It could not be started, or nobody saw its end.' : `It was ended by ${signal}.`
}
