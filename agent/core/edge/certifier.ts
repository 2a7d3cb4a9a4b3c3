import { createBuckets } from '../../../shared/buckets.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { type EdgeAddress, hostNameOf, isReserved, signInHost } from '../common/urls.ts'
import type { Leads } from './leads.ts'
import type { EdgeRoutes } from './routes.ts'

export interface CertifierDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  leads: Pick<Leads, 'exactOwner'>
  address: EdgeAddress
  /** As in `PublishingDeps`, the domains that were published before they were reserved. */
  reserved: readonly string[]
  clock: Clock
  logger: Logger
}

/** Decides whether a certificate may be issued now for a host name from a TLS handshake. */
export type Certifier = (host: string) => Promise<boolean>

/**
 * Allows certificates for the hosts that the edge serves: boxes, services, their domains, and the sign-in. Of other cells it allows the
 * hosts of boxes and all domains, because only the owner knows its services. CAs limit a deployment as a whole, so each box has a burst
 * of 30 and then one per two minutes.
 */
export function createCertifier({ hosts, leads, address, reserved, clock, logger }: CertifierDeps): Certifier {
  const buckets = createBuckets({ perSecond: 1 / 120, burst: 30, clock })
  return async (host) => {
    if (hostNameOf(host) !== host) return false
    if (host === signInHost(address)) return true
    if (isReserved(host, { reserved, address })) return false
    const id = (await hosts.lookup(host))?.box.id ?? leads.exactOwner(host)
    if (id === null) return false
    const seconds = buckets.waitOf(id)
    if (seconds === null) buckets.take(id)
    else logger.warn('a box exceeds its limit of certificates', { box: id, host, wait_seconds: seconds })
    return seconds === null
  }
}
