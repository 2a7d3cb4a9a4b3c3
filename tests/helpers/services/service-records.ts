import type { ServiceRecord, ServiceSpec } from '../../../agent/ports/store/services.ts'

/** A complete record of a service that was just defined; `spec` and `more` replace fields. */
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
