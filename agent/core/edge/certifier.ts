import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { createBuckets } from '../access/rate-limit.ts'
import { type EdgeAddress, signInHost } from '../common/urls.ts'
import { hostNameOf } from './request.ts'
import type { EdgeRoutes } from './routes.ts'

export interface CertifierDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  clock: Clock
  logger: Logger
}

/** Whether a certificate may be got now for what a client calls a host. */
export type Certifier = (host: string) => Promise<boolean>

/**
 * Certifies the hosts that the edge serves: those of boxes and services, their domains, and the sign-in. What CAs take from a
 * deployment is shared out: a box gets 30 at once, and then one every two minutes.
 */
export function createCertifier({ hosts, address, clock, logger }: CertifierDeps): Certifier {
  const buckets = createBuckets({ perSecond: 1 / 120, burst: 30, clock })
  return async (host) => {
    if (hostNameOf(host) !== host) return false
    if (host === signInHost(address)) return true
    const target = await hosts.lookup(host)
    if (target === null) return false
    const { id } = target.box
    const seconds = buckets.waitOf(id)
    if (seconds === null) buckets.take(id)
    else logger.warn('a box asks for more certificates than it may', { box: id, host, wait_seconds: seconds })
    return seconds === null
  }
}
