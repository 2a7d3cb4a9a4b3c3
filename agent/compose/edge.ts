import { lookup } from 'node:dns/promises'
import type { Server } from 'node:net'
import { join } from 'node:path'
import type { ChannelKey } from '../../shared/auth/channel.ts'
import { TOKEN_PREFIX, type TokenVerifier } from '../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { repeat } from '../../shared/repeat.ts'
import type { HealthFault } from '../../shared/schemas/health.ts'
import type { AgentSettings } from '../config/agent.ts'
import type { EdgeSettings } from '../config/edge.ts'
import type { Tickets } from '../core/access/tickets.ts'
import type { Tokens } from '../core/access/tokens.ts'
import type { BoxActivity } from '../core/boxes/activity.ts'
import type { Boxes } from '../core/boxes/boxes.ts'
import { type EdgeAddress, signInHost } from '../core/common/urls.ts'
import { createAccess } from '../core/edge/access.ts'
import { createCertifier } from '../core/edge/certifier.ts'
import { createFailedAuthLimit } from '../core/edge/failed-auth-limit.ts'
import { createGate } from '../core/edge/gate.ts'
import { createEdgeGrants, type EdgeGrants } from '../core/edge/grants.ts'
import { createLeads, type Leads } from '../core/edge/leads.ts'
import { Loopback } from '../core/edge/loopback.ts'
import { createEdgeRoutes, type EdgeRoutes } from '../core/edge/routes.ts'
import { createSignIn } from '../core/edge/sign-in.ts'
import { createSignInCodes } from '../core/edge/sign-in-codes.ts'
import { createWaker } from '../core/edge/wake.ts'
import type { DomainClaims } from '../core/fleet/domain-claims.ts'
import { createCaddyEdge } from '../drivers/edge/caddy.ts'
import { createHaproxyEdge } from '../drivers/edge/haproxy.ts'
import { netProber } from '../drivers/edge/prober.ts'
import { createEdgeBackend, type EdgeBackend } from '../handlers/edge/backend.ts'
import type { HostNetwork } from '../ports/boxes/network.ts'
import type { Runtime } from '../ports/boxes/runtime.ts'
import type { Edge, EdgeGate } from '../ports/edge/edge.ts'
import type { Prober } from '../ports/edge/prober.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { ServiceStore } from '../ports/store/services.ts'
import type { ConnectionGuard } from './connections.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Fleet } from './fleet-kube.ts'

/** The opened edge, serving the routes of the stored records. */
export interface EdgeParts {
  edge: Edge
  routes: EdgeRoutes
  address: EdgeAddress
  claims: DomainClaims
  /** Lists its problems, for the health report. */
  problems(): Promise<HealthFault[]>
  /** Supplies the backend, for which earlier requests of the edge have waited. */
  useBackend(deps: Pick<EdgeBackendParts, 'boxes' | 'activity' | 'verifyToken' | 'runtime' | 'tickets'>): void
}

/**
 * Opens the edge with the boxes that run now. Call before any box is started or stopped, so that no route leads to an address that
 * another box has been given.
 */
export async function openEdge(
  { settings, closers, clock, logger, decorate, connections }: DeploymentDeps & { connections: ConnectionGuard },
  { store, tokens, keys, runDir }: Deployment,
  {
    network,
    fleet,
  }: { network: Pick<HostNetwork, 'addressOf'>; fleet: Pick<Fleet, 'directory' | 'domains' | 'claims'> },
): Promise<EdgeParts> {
  const backend = Promise.withResolvers<EdgeBackend>()
  const gate: EdgeGate = {
    decide: async (request) => (await backend.promise).gate.decide(request),
    certifies: async (host) => (await backend.promise).gate.certifies(host),
    reach: async (target) => (await backend.promise).gate.reach(target),
    refuse: async (error, request) => (await backend.promise).gate.refuse(error, request),
  }
  const pages: HttpHandler = async (request) => (await backend.promise).handle(request)
  const bound = (server: Server): void => connections.bound(server, 'edge')
  const address = addressOf(settings.edge, () => edge.port)
  const edge: Edge = decorate(
    'edge',
    createEdge(settings, { runDir, address, pages, logger, clock, bound, keys: () => keys.channel().keys }),
  )
  const grants = createEdgeGrants({ grants: store.edgeGrants, edge, clock })
  const onGain = (): Promise<void> => grants.revokeEnded()
  const { claims } = fleet
  const routes = createEdgeRoutes({ store, network, edge, address, onNewDomain: onGain, claims, clock, logger })
  await routes.open(async (all) => edge.open({ routes: all, grants: await grants.live(), gate }))
  closers.add('edge', () => edge.close({ release: false }))
  const onError = (error: unknown): void => logger.error('failed to renew grants of the edge', { error })
  closers.add(
    'renewal of grants',
    repeat(() => grants.renewUsed(), { everyMs: RENEWAL_MS, onError }),
  )
  const leads = createLeads({ ...fleet, hosts: routes, edge, address, prober: netProber, clock, logger })
  closers.add('leads', () => leads.close())
  return {
    ...{ edge, routes, address, claims },
    problems: async () => [...(await edge.problems()), ...(await leads.problems())],
    useBackend: ({ boxes, activity, verifyToken, runtime, tickets }) =>
      backend.resolve(
        wireEdgeBackend({
          ...{ grants, hosts: routes, leads, address, boxes, activity, tokens, tickets, verifyToken, runtime },
          services: store.services,
          loopbackAtOnce: settings.limits.portConnectionsAtOnce,
          reserved: settings.edge.reservedDomains,
          ...{ prober: netProber, clock, logger },
        }),
      ),
  }
}

/**
 * Returns the address at which other cells reach the edge, or an empty one without a fleet. Uses the channel's numeric address, since an
 * edge asks no resolver.
 */
export async function edgeAddressOf(channelUrl: string, { cellPort }: Pick<Edge, 'cellPort'>): Promise<string> {
  if (cellPort === null) return ''
  const host = new URL(channelUrl).hostname.replace(/^\[|\]$/g, '')
  const address = await lookup(host).then(
    (found) => found.address,
    () => host,
  )
  return `${address.includes(':') ? `[${address}]` : address}:${cellPort}`
}

/** The parts that the edge's backend answers from. */
export interface EdgeBackendParts {
  grants: EdgeGrants
  hosts: Pick<EdgeRoutes, 'lookup' | 'hold' | 'boxAt'>
  leads: Pick<Leads, 'find' | 'exactOwner'>
  address: EdgeAddress
  /** Host names that get no certificates for boxes. */
  reserved: readonly string[]
  boxes: Pick<Boxes, 'resume'>
  tokens: Pick<Tokens, 'checkAlive' | 'onRevoke'>
  tickets: Pick<Tickets, 'check' | 'take'>
  activity: Pick<BoxActivity, 'begin'>
  verifyToken: TokenVerifier
  runtime: Pick<Runtime, 'connect'>
  services: Pick<ServiceStore, 'of' | 'get'>
  /** Most requests to servers on the loopback of boxes at once. */
  loopbackAtOnce: number
  prober: Prober
  clock: Clock
  logger: Logger
}

/** Wires the backend. After this, a token's revocation revokes its grants at the edge. */
export function wireEdgeBackend(parts: EdgeBackendParts): EdgeBackend {
  const { grants, hosts, leads, address, tokens, tickets, verifyToken, clock, logger } = parts
  tokens.onRevoke(() => grants.revokeEnded())
  const failedAuth = createFailedAuthLimit({ clock })
  const checkAlive = (id: string): Promise<void> => tokens.checkAlive(id)
  const access = createAccess({ verifyToken, checkAlive, grants, failedAuth })
  const gate = createGate({ hosts, address, access, waker: createWaker(parts) })
  const codes = createSignInCodes({ clock })
  const signIn = createSignIn({ hosts, address, access, grants, codes, tickets, failedAuth })
  const certifies = createCertifier({ hosts, leads, address, reserved: parts.reserved, clock, logger })
  const loopback = new Loopback({ ...parts, atOnce: parts.loopbackAtOnce })
  return createEdgeBackend({ gate, leads, signIn, certifies, loopback, grants, address, clock, logger })
}

interface EdgeOptions {
  runDir: string
  address: EdgeAddress
  pages: HttpHandler
  logger: Logger
  clock: Clock
  bound(server: Server): void
  /** Keys of the channel. */
  keys(): readonly ChannelKey[]
}

function createEdge({ edge, dataDir, ...settings }: AgentSettings, { address, keys, ...rest }: EdgeOptions): Edge {
  const { host, port, certificates, trustedProxies, acme, limits } = edge
  const known = {
    host,
    port,
    certificates,
    limits,
    cells: settings.fleet && { host: settings.host, port: settings.fleet.edgePort, tls: settings.channelTls, keys },
    signInHost: signInHost(address),
    tokenPrefixes: [TOKEN_PREFIX],
    ...rest,
  }
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

/** A fraction of the time before their end at which grants are renewed. */
const RENEWAL_MS = 1_800_000
