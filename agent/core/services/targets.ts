import type { ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'

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

/**
 * Where the requests for a box itself go: to its port, or, where that is the port of a service, to what is active of it, wherever
 * that listens. A pure function.
 */
export function targetOfBox({ id, port }: Pick<BoxRecord, 'id' | 'port'>, services: readonly ServiceRecord[]): Target {
  const wished = port ?? DEFAULT_PORT
  const service = services.find(({ active, spec }) => (active?.spec ?? spec).port === wished)
  const active = service === undefined ? null : targetsOf(service).active
  return active ?? { boxId: id, port: wished }
}

/** Tried at the URL of a box that names no port. */
const DEFAULT_PORT = 8080
