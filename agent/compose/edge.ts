import { join } from 'node:path'
import { TOKEN_PREFIX } from '../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import type { AgentSettings } from '../config/agent.ts'
import type { EdgeSettings } from '../config/edge.ts'
import { type EdgeAddress, signInHost } from '../core/common/urls.ts'
import { createEdgeGrants } from '../core/edge/grants.ts'
import { createEdgeRoutes, type EdgeRoutes } from '../core/edge/routes.ts'
import { createCaddyEdge } from '../drivers/edge/caddy.ts'
import { createHaproxyEdge } from '../drivers/edge/haproxy.ts'
import { netProber } from '../drivers/edge/prober.ts'
import { createEdgeBackend, type EdgeBackend, type EdgeBackendDeps } from '../handlers/edge/backend.ts'
import type { HostNetwork } from '../ports/boxes/network.ts'
import type { Edge, EdgeGate } from '../ports/edge/edge.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'

/** The opened edge, serving the routes of the stored records. */
export interface EdgeParts {
  edge: Edge
  routes: EdgeRoutes
  address: EdgeAddress
  /** Supplies the backend, for which earlier requests of the edge have waited. */
  useBackend(deps: Pick<EdgeBackendDeps, 'boxes' | 'activity' | 'verifyToken'>): void
}

/**
 * Opens the edge with the boxes that run now. Call before any box is started or stopped, so that no route leads to an address that
 * another box has been given.
 */
export async function openEdge(
  { settings, closers, clock, logger, decorate }: DeploymentDeps,
  { store, tokens, runDir }: Deployment,
  network: Pick<HostNetwork, 'addressOf'>,
): Promise<EdgeParts> {
  const backend = Promise.withResolvers<EdgeBackend>()
  const gate: EdgeGate = {
    decide: async (request) => (await backend.promise).gate.decide(request),
    certifies: async (host) => (await backend.promise).gate.certifies(host),
  }
  const pages: HttpHandler = async (request) => (await backend.promise).handle(request)
  const address = addressOf(settings.edge, () => edge.port)
  const edge: Edge = decorate('edge', createEdge(settings, { runDir, address, pages, logger, clock }))
  const grants = createEdgeGrants({ grants: store.edgeGrants, edge, clock })
  const onGain = (): Promise<void> => grants.revokeEnded()
  const routes = createEdgeRoutes({ store, network, edge, address, onNewDomain: onGain, logger })
  await routes.open(async (all) => edge.open({ routes: all, grants: await grants.live(), gate }))
  closers.add('edge', () => edge.close({ release: false }))
  return {
    edge,
    routes,
    address,
    useBackend: ({ boxes, activity, verifyToken }) =>
      backend.resolve(
        createEdgeBackend({
          ...{ grants, hosts: routes, address, boxes, activity, tokens, verifyToken },
          ...{ prober: netProber, clock, logger },
        }),
      ),
  }
}

interface EdgeOptions {
  runDir: string
  address: EdgeAddress
  pages: HttpHandler
  logger: Logger
  clock: Clock
}

function createEdge({ edge, dataDir }: AgentSettings, { address, ...rest }: EdgeOptions): Edge {
  const { host, port, certificates, trustedProxies, acme } = edge
  const known = { host, port, certificates, signInHost: signInHost(address), tokenPrefixes: [TOKEN_PREFIX], ...rest }
  if (acme === null) return createHaproxyEdge({ ...known, scheme: address.scheme, trustedProxies, frontProxy: null })
  return createCaddyEdge({ ...known, ...acme, storage: join(dataDir, 'acme'), seenPort: () => address.port })
}

function addressOf({ domain, seenAs, certificates, acme }: EdgeSettings, listening: () => number): EdgeAddress {
  const scheme = seenAs?.scheme ?? (certificates === null && acme === null ? 'http' : 'https')
  const usual = scheme === 'https' ? 443 : 80
  return {
    domain,
    scheme,
    get port() {
      const port = seenAs === null ? listening() : seenAs.port
      return port === usual ? null : port
    },
  }
}
