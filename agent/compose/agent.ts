import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { startIdleStops } from '../core/edge/idle-stop.ts'
import { type HealthReport, reportHealth } from '../core/health/health.ts'
import { createLinuxHost } from '../drivers/host/facts.ts'
import { reserveDescriptors } from '../lib/syscalls/descriptor-limit.ts'
import type { Clock } from '../ports/host/clock.ts'
import { keepAdminToken, replaceAdminToken } from './admin-token.ts'
import { measureCell } from './cell-status.ts'
import { createConnectionGuard } from './connections.ts'
import { startCoreParts } from './core.ts'
import { type DeploymentDeps, openDeployment } from './deployment.ts'
import { openDrivers } from './drivers.ts'
import { edgeAddressOf, openEdge } from './edge.ts'
import { openFleet } from './fleet.ts'
import type { HandlerParts } from './handlers.ts'
import { createReload, openControl, type ReloadDeps } from './reload.ts'
import { createMeter, serveAll } from './servers.ts'

/** A serving agent. */
export interface Agent {
  address: AddressInfo
  /** Refuses new requests, drains those under way for `drainMs`, then closes all parts. Boxes keep running. */
  stop(): Promise<void>
}

/** The system clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { ref: false, ...(signal ? { signal } : {}) }).catch(() => undefined),
}

/** Opens state, drivers, edge and core in that order, then serves. Once it resolves all boxes of a previous agent are adopted. */
export async function startAgent(
  deps: DeploymentDeps & Pick<ReloadDeps, 'setLogLevel'> & { version: Version },
  signal: AbortSignal,
): Promise<Agent> {
  const { settings, closers, clock, logger } = deps
  const state = { isDraining: false }
  reserveDescriptors(RESERVED_DESCRIPTORS)
  const meter = createMeter(deps, deps.version)
  const data = openDeployment(deps, { exclusive: true })
  const fleet = await openFleet(deps, data, deps.version.version)
  const deployment = { ...data, tokens: fleet.tokens }
  const { store } = deployment
  const adminToken = { ...deps, ...deployment, dataDir: settings.dataDir }
  await keepAdminToken({ ...adminToken, ...fleet })
  const drivers = await openDrivers({ ...deps, directory: fleet.directory }, deployment)
  const connections = createConnectionGuard(settings, { meter, logger })
  const edge = await openEdge({ ...deps, connections }, deployment, { network: drivers.network, fleet })
  const { standingFaults, ...parts } = await startCoreParts(
    { ...deps, deployment, drivers, routes: edge.routes, meter },
    signal,
  )
  const { reconciler, execs, activity } = parts
  const host = createLinuxHost()
  const health = (): Promise<HealthReport> => {
    const own = { dataDir: settings.dataDir, isDraining: () => state.isDraining, standingFaults }
    return reportHealth({ ...drivers, ...own, store, edge, reconciler, fleet, host, logger })
  }
  const { channel, stopServing, reloadTls, origins } = await serveAll({
    ...deps,
    deployment,
    drivers,
    ...parts,
    edge,
    fleet,
    health,
    state,
    meter,
    connections,
  })
  await openControl(adminToken, {
    reload: createReload({ ...deps, reloadTls }),
    replaceAdminToken: (revokes) => replaceAdminToken(adminToken, { revokes }),
  })
  closers.add('idle stops', startIdleStops({ ...edge, activity, store, reconciler, clock, logger }))
  await edge.edge.started()
  await fleet.join({
    reconciler,
    addresses: { ...origins, edgeAddress: await edgeAddressOf(origins.channelUrl, edge.edge) },
    measure: () => measureCell({ ...deps, drivers, store, host, state }),
    onChange: (tell) => {
      drivers.places?.onTurn(tell)
      return drivers.cluster.onRefusal(tell)
    },
  })
  // Warms up only after the first request. Before that, a starting front needs the CPU more, as at boot.
  channel.once('request', (_request, response) => {
    response.once('close', () => {
      if (!state.isDraining) drivers.warmUp()
    })
  })
  const stop = async (): Promise<void> => {
    state.isDraining = true
    logger.info('draining')
    await stopServing(AbortSignal.timeout(settings.limits.drainMs))
    await execs.close(EXEC_END_MS)
    await closers.run(CLOSE_MS)
  }
  return { address: channel.address() as AddressInfo, stop }
}

type Version = HandlerParts['version']

// Covers the few descriptors that a library needs at once.
const RESERVED_DESCRIPTORS = 64
const EXEC_END_MS = 2_000
const CLOSE_MS = 15_000
