import type { Logger } from '../../../shared/log.ts'
import { watchRemovedTables } from '../../lib/syscalls/netlink.ts'
import type { NetworkProblem } from '../../ports/boxes/network.ts'
import { type ResolverSettings, resolvConfText, writeInPlace } from './files.ts'
import { readResolvers } from './host.ts'
import { packetFilterRemoved } from './problems.ts'

/** Restores what other programs may change at any time: the packet filter, and the boxes' resolvers. */
export interface NetworkMaintenance {
  /** The current nameservers of boxes. */
  nameservers(): readonly string[]
  /** Looks after `filter` from now on: at once when a table is removed, else every five seconds; then calls `also`. */
  start(filter: KeptFilter, also?: () => void): void
  /** Restores the filter if it was removed; returns a problem if that happened in the last ten minutes. */
  check(): NetworkProblem[]
  close(): void
}

/** A packet filter that can be lost. */
export interface KeptFilter {
  /** Loads it again if it is gone; true if it was. */
  heal(): boolean
  setResolvers(nameservers: readonly string[]): void
}

export interface NetworkMaintenanceOptions {
  /** The file of boxes' resolvers, which is written at once and from then on in place. */
  resolvFile: string
  /** Nameservers for boxes where the host's own are out of their reach. */
  dns: readonly string[]
  /** The name of the filter's table. */
  table: string
  logger: Logger
}

/** Writes the resolvers; nothing is looked after before `start`. */
export function openNetworkMaintenance({
  resolvFile,
  dns,
  table,
  logger,
}: NetworkMaintenanceOptions): NetworkMaintenance {
  let resolvers: ResolverSettings = readResolvers(dns)
  let removedAt = Number.NEGATIVE_INFINITY
  let kept: KeptFilter | null = null
  let stop = (): void => undefined
  writeInPlace(resolvFile, resolvConfText(resolvers))

  const heal = (): void => {
    if (!kept?.heal()) return
    removedAt = performance.now()
    logger.warn('packet filter was removed by another program; loaded it again')
  }
  const followResolvers = (): void => {
    const now = readResolvers(dns)
    const text = resolvConfText(now)
    if (text === resolvConfText(resolvers)) return
    resolvers = now
    writeInPlace(resolvFile, text)
    kept?.setResolvers(now.nameservers)
  }
  return {
    nameservers: () => resolvers.nameservers,
    start: (filter, also) => {
      kept = filter
      const look = (): void => {
        try {
          heal()
          followResolvers()
          also?.()
        } catch (error) {
          logger.error('network could not be looked after', { error })
        }
      }
      const removals = watchRemovedTables(look)
      const timer = setInterval(look, LOOK_MS).unref()
      stop = () => {
        clearInterval(timer)
        removals.close()
      }
    },
    check: () => {
      heal()
      return performance.now() - removedAt < TOLD_MS ? [packetFilterRemoved(table)] : []
    },
    close: () => stop(),
  }
}

const LOOK_MS = 5_000
const TOLD_MS = 600_000
