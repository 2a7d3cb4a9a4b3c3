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
export function targetsOf({ boxId, spec, active }: ServiceRecord): ServiceTargets {
  const { port } = active?.spec ?? spec
  return { active: port === null ? null : { boxId, port }, preview: null }
}
