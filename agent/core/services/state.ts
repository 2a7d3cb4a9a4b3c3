import type { ServiceView } from '../../../shared/schemas/services.ts'
import type { CandidateRecord } from '../../ports/store/services.ts'
import type { ObservedService } from './observer.ts'
import { endText, isRestarted } from './plan.ts'

interface State {
  state: ServiceView['state']
  message: string | null
}

interface PreviewState {
  state: NonNullable<ServiceView['preview']>['state']
  message: string | null
}

/** Returns the state of a service, and the reason. */
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
  const text = endText(end)
  if (isRestarted(record.spec, end)) return { state: 'failed', message: `${text} It restarts.` }
  return { state: end.exitCode === 0 ? 'stopped' : 'failed', message: text }
}

/** Returns the state of a service's preview, and the reason. Null without a preview. */
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

function failureText({ why, output }: NonNullable<CandidateRecord['failure']>, withOutput: boolean): string {
  return withOutput && output !== '' ? `${why} Its last lines:\n${output}` : why
}
