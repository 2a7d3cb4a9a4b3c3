import type { ServiceRecord } from '../ports/service-store.ts'

/** Where the requests for a service go; null: it listens nowhere, or there is none. */
export interface ServiceTargets {
  active: Target | null
  preview: Target | null
}

export interface Target {
  boxId: string
  port: number
}

/** Where the requests for a service go, whether or not it runs. A pure function. */
export function targetsOf({ boxId, spec, active, preview }: ServiceRecord): ServiceTargets {
  const at = (port: number | null, id = boxId): Target | null => (port === null ? null : { boxId: id, port })
  return {
    active: at(active === null ? spec.port : active.port),
    preview: preview === null || preview.failure !== null ? null : at(preview.port, preview.fork?.boxId),
  }
}
