import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import { watchRemovedTables } from '../../lib/syscalls/netlink.ts'
import type { NetworkProblem, Resolvers } from '../../ports/boxes/network.ts'
import { type ResolverSettings, resolvConfText, writeInPlace } from './files.ts'
import { readResolvers } from './host.ts'
import { packetFilterRemoved } from './problems.ts'

/** Restores the packet filter and the boxes' resolvers after other programs change them. */
export interface NetworkMaintenance extends Resolvers {
  /** Returns the current nameservers of boxes. */
  nameservers(): readonly string[]
  /** Starts to check `filter` and the resolvers, when a table is removed and every five seconds. Calls `also` after each check. */
  start(filter: KeptFilter, also?: () => void): void
  /** Restores the filter if another program removed it. Returns a problem if that happened in the last ten minutes. */
  check(): NetworkProblem[]
  close(): void
}

/** A packet filter that other programs may remove. */
export interface KeptFilter {
  /** Reloads it if another program removed it, and then returns true. */
  heal(): boolean
  setResolvers(nameservers: readonly string[]): void
}

export interface NetworkMaintenanceOptions {
  /** Path of the resolv.conf for boxes, written at once and later updated in place. */
  resolvFile: string
  /** The name server of boxes, and the path of the resolv.conf that it reads. If absent, boxes query the host's resolvers themselves. */
  server?: { address: string; upstreamFile: string }
  /** Nameservers for boxes that cannot reach the host's own. */
  dns: readonly string[]
  /** Name of the filter's table. */
  table: string
  logger: Logger
}

/** Writes the resolvers. `start` begins the checks. */
export function openNetworkMaintenance({
  resolvFile,
  dns,
  server,
  table,
  logger,
}: NetworkMaintenanceOptions): NetworkMaintenance {
  let resolvers: ResolverSettings = readResolvers(dns)
  let removedAt = Number.NEGATIVE_INFINITY
  let kept: KeptFilter | null = null
  let stop = (): void => undefined
  let tell = (_resolvConf: string): void => undefined
  if (server) mkdirSync(dirname(server.upstreamFile), { recursive: true, mode: 0o755 })
  const write = (): string => {
    const { nameservers, otherLines } = resolvers
    const text = resolvConfText(
      server ? { nameservers: [server.address], otherLines: [...otherLines, SERVER_OPTIONS] } : resolvers,
    )
    writeInPlace(resolvFile, text)
    if (server) writeInPlace(server.upstreamFile, resolvConfText({ nameservers, otherLines: [] }))
    return text
  }
  let written = write()

  const heal = (): void => {
    if (!kept?.heal()) return
    removedAt = performance.now()
    logger.warn('another program removed the packet filter, loaded it again')
  }
  const followResolvers = (): void => {
    const now = readResolvers(dns)
    if (isDeepStrictEqual(now, resolvers)) return
    resolvers = now
    written = write()
    kept?.setResolvers(now.nameservers)
    tell(written)
  }
  return {
    nameservers: () => resolvers.nameservers,
    onResolvers: (listener) => {
      tell = listener
      listener(written)
    },
    start: (filter, also) => {
      kept = filter
      const runChecks = (): void => {
        try {
          heal()
          followResolvers()
          also?.()
        } catch (error) {
          logger.error('maintenance of the network failed', { error })
        }
      }
      const removals = watchRemovedTables(runChecks)
      // `runChecks` reports its own errors.
      const stopChecks = repeat(runChecks, { everyMs: CHECK_INTERVAL_MS, onError: () => undefined })
      stop = () => {
        stopChecks()
        removals.close()
      }
    },
    check: () => {
      heal()
      return performance.now() - removedAt < REPORT_MS ? [packetFilterRemoved(table)] : []
    },
    close: () => stop(),
  }
}

// Names of boxes have no dot, and need no search domain. A client soon retries a server that has just started.
const SERVER_OPTIONS = 'options ndots:0 timeout:2 attempts:3'
const CHECK_INTERVAL_MS = 5_000
const REPORT_MS = 600_000
