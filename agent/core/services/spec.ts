import type { PutServiceBody } from '../../../shared/schemas/services.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Readiness, ServiceOutline, ServiceSpec } from '../../ports/store/services.ts'
import { checkEnvironment } from '../common/environment.ts'

/**
 * Reads the spec from a request body, and applies the defaults.
 * @throws ServiceError `environment_reserved`, `invalid_request` for a probe that needs a port the service does not have
 */
export function specOf(body: PutServiceBody): ServiceSpec {
  checkEnvironment(body.env ?? {})
  const port = body.port || null
  const readiness = body.readiness ? readinessOf(body.readiness) : null
  if (readiness !== null && readiness.probe.kind !== 'command' && port === null) {
    throw invalidRequest([{ pointer: `/readiness/${readiness.probe.kind}`, detail: 'needs a port of the service' }])
  }
  return {
    command: body.command,
    env: body.env ?? {},
    cwd: body.cwd ?? null,
    user: body.user ?? null,
    port,
    ...(body.protocol === 'h2c' ? { protocol: body.protocol } : {}),
    needs: [...new Set(body.needs)],
    restart: body.restart ?? 'always',
    readiness,
    stopSignal: body.stop_signal ?? 'SIGTERM',
    graceSeconds: body.grace_seconds ?? 10,
  }
}

/**
 * Refuses needs that do not exist, and cycles, in which no service would ever start.
 * @throws ServiceError `invalid_request`
 */
export function checkNeeds(name: string, { needs }: ServiceSpec, others: readonly ServiceOutline[]): void {
  const specs = new Map(others.map((each) => [each.name, each.spec]))
  specs.delete(name)
  const leadsBack = (from: string, seen: Set<string>): boolean => {
    if (from === name) return true
    if (seen.has(from)) return false
    seen.add(from)
    return (specs.get(from)?.needs ?? []).some((next) => leadsBack(next, seen))
  }
  const faults = needs.flatMap((need, index) => {
    const pointer = `/needs/${index}`
    if (leadsBack(need, new Set())) return [{ pointer, detail: 'must not be this service' }]
    return specs.has(need) ? [] : [{ pointer, detail: 'must be a service of the box' }]
  })
  if (faults.length > 0) throw invalidRequest(faults)
}

function readinessOf(given: NonNullable<PutServiceBody['readiness']>): Readiness {
  const { http, command } = given
  const probe: Readiness['probe'] =
    http !== undefined ? { kind: 'http', path: http } : command ? { kind: 'command', command } : { kind: 'tcp' }
  return {
    probe,
    intervalMs: (given.interval_seconds ?? 1) * 1000,
    timeoutMs: (given.timeout_seconds ?? 2) * 1000,
    threshold: given.threshold ?? 3,
  }
}
