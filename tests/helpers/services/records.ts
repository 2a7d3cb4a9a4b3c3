import { promoted, withEnd, withNewRun, withPreview } from '../../../agent/core/services/versions.ts'
import type {
  CandidateRecord,
  InstanceRecord,
  RunEnd,
  ServiceRecord,
  ServiceSpec,
} from '../../../agent/ports/store/services.ts'

export const NOW = 1_000_000
export const BOX_SINCE = 500_000
export const SWITCH = { by: 'me', at: NOW, bytesOf: () => 5 }

/** Returns a complete record of a newly defined service. `spec` and `more` replace fields. */
export function serviceRecord(spec: Partial<ServiceSpec> = {}, more: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    ...{ boxId: 'box_a', name: 'web', version: 1, createdAt: 0, updatedAt: 0 },
    ...{ generation: 1, desired: 'running', asked: 1 },
    spec: {
      ...{ command: ['a'], env: {}, cwd: null, user: null, port: null, needs: [], restart: 'always', readiness: null },
      ...{ stopSignal: 'SIGTERM', graceSeconds: 10, ...spec },
    },
    ...{ active: null, preview: null, previous: null, next: null, retired: [], domains: [], tags: {}, history: [] },
    ...more,
  }
}

/** Returns a service on port 8080 whose active version runs. */
export function runningService(name = 'web'): ServiceRecord {
  const record = serviceRecord({ port: 8080 }, { name })
  return withNewRun(record, { slot: 'active', isFresh: true, boxSince: BOX_SINCE, port: 8080, now: NOW })
}

/** Returns a service after a run of its active version that began 20 s ago. With `end` null, the run continues. */
export function ran(record: ServiceRecord, end: Partial<RunEnd> | null, since = BOX_SINCE): ServiceRecord {
  const started = withNewRun(record, { slot: 'active', port: null, isFresh: true, boxSince: since, now: NOW - 20_000 })
  const execId = started.active?.runs.at(-1)?.execId ?? ''
  if (end === null) return started
  const whole = { exitCode: 0, signal: null, outOfMemory: false, endedAt: NOW, logBytes: 7, ...end }
  return withEnd(started, execId, whole)
}

/** Returns a preview that has not started yet. */
export function candidate(): CandidateRecord {
  return {
    spec: serviceRecord({ port: 8080 }).spec,
    fork: null,
    port: null,
    runs: [],
    restarts: 0,
    failures: 0,
    readyMs: 60_000,
    failure: null,
  }
}

/** Returns a service whose preview runs. */
export function deployed(record = runningService(), port = 49_152): ServiceRecord {
  const start = { slot: 'preview', isFresh: true, boxSince: BOX_SINCE, port, now: NOW } as const
  return withNewRun(withPreview(record, candidate()), start)
}

/** Returns the record after the end of a version's last run. The default exit code is 1. */
export function ended(
  record: ServiceRecord,
  instance: InstanceRecord | null,
  end: Partial<RunEnd> = {},
): ServiceRecord {
  return withEnd(record, instance?.runs.at(-1)?.execId ?? '', {
    exitCode: 1,
    signal: null,
    outOfMemory: false,
    endedAt: NOW,
    logBytes: 7,
    ...end,
  })
}

/** Returns a service after the promotion of its preview. */
export function switched(): ServiceRecord {
  const record = deployed()
  return promoted(record, record.preview ?? candidate(), SWITCH)
}
