import type { Logger } from '../../../shared/log.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ServiceOutline, ServiceSpec } from '../../ports/store/services.ts'

/** Routes the requests to services according to their records. */
export interface Traffic {
  /** Routes new requests by the current records of the box. Resolves once none goes to an old target. */
  settle(boxId: string): Promise<void>
  /** Resolves once no request is open to a port of a box. Cuts off those that are open after `graceMs`. */
  drain(target: Target, graceMs: number): Promise<void>
}

/** Settles the routes of a box, and continues if the edge fails. The edge is updated once it works again. */
export async function trySettle(
  { traffic, logger }: { traffic: Traffic; logger: Logger },
  boxId: string,
): Promise<void> {
  await traffic
    .settle(boxId)
    .catch((error: unknown) => logger.warn('failed to route requests to a service', { boxId, error }))
}

/** A port of a box, or of a fork of one. */
export interface Target {
  boxId: string
  port: number
  /** Absent: HTTP/1.1. */
  protocol?: 'h2c' | undefined
}

/** The targets of a service's versions. Null if the version listens nowhere, or does not exist. */
export interface ServiceTargets {
  active: Target | null
  preview: Target | null
}

/** Returns where the requests for a service go, running or not. A pure function. */
export function targetsOf({ boxId, spec, active, preview }: ServiceOutline): ServiceTargets {
  const at = (port: number | null, { protocol }: Pick<ServiceSpec, 'protocol'>, id = boxId): Target | null =>
    port === null ? null : { boxId: id, port, ...(protocol === undefined ? {} : { protocol }) }
  return {
    active: active === null ? at(spec.port, spec) : at(active.port, active.spec),
    preview: preview === null || preview.failure !== null ? null : at(preview.port, preview.spec, preview.fork?.boxId),
  }
}

/**
 * Returns the target of requests for the box itself: its port, or the port of the active version if its port belongs to a service.
 * Pure.
 */
export function targetOfBox(
  { id, port, protocol }: Pick<BoxRecord, 'id' | 'port' | 'protocol'>,
  services: readonly ServiceOutline[],
): Target {
  const requested = port ?? DEFAULT_PORT
  const service = services.find(({ active, spec }) => (active?.spec ?? spec).port === requested)
  const active = service === undefined ? null : targetsOf(service).active
  return active ?? { boxId: id, port: requested, ...(protocol === undefined ? {} : { protocol }) }
}

/** The port of a box that names none. */
const DEFAULT_PORT = 8080
