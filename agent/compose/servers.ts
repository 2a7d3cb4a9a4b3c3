import type { Server } from 'node:http'
import { hostname } from 'node:os'
import { createVerifier } from '../../shared/auth/channel.ts'
import { hostAuthority } from '../../shared/auth/host-authority.ts'
import { publicTokenKeys } from '../../shared/auth/keys.ts'
import { createTokenVerifier } from '../../shared/auth/tokens.ts'
import { createBodyBudget } from '../../shared/http/body-budget.ts'
import {
  createKnownHosts,
  type HostRule,
  hostsOfOrigins,
  machineNames,
  refuseUnknownHosts,
} from '../../shared/http/known-hosts.ts'
import { bearerToken, type HeaderMap, type HttpHandler } from '../../shared/http/messages.ts'
import { PLAIN_SERVER_OPTIONS, serve } from '../../shared/http/serve.ts'
import { createLineBudget } from '../../shared/log-budget.ts'
import { matchOperation } from '../../shared/match.ts'
import { repeat } from '../../shared/repeat.ts'
import { createRateLimit } from '../core/access/rate-limit.ts'
import { createTickets } from '../core/access/tickets.ts'
import { meterEdge } from '../core/edge/metrics.ts'
import { createAuditTrail } from '../core/events/audit-trail.ts'
import { meterState } from '../core/health/state-metrics.ts'
import { createLogStreams } from '../core/services/logs.ts'
import { meterProcess } from '../drivers/host/process-metrics.ts'
import { createPrometheusMeter, PROMETHEUS_TYPE, type PrometheusMeter } from '../drivers/metrics/meter-prometheus.ts'
import { tryReadText } from '../lib/disk/file-text.ts'
import { allowPages, matchTicketed } from '../server/data-address.ts'
import { createDispatch, createRefuse } from '../server/dispatch.ts'
import { createMetricsHandler, createRequestMeter } from '../server/metrics.ts'
import { OpenRequests } from '../server/open-requests.ts'
import { createProcessorTurns } from '../server/processor-turns.ts'
import type { ReceptionDeps } from '../server/reception.ts'
import { createStreamServer } from '../server/streams.ts'
import { type Trust, trustSender, trustSigned } from '../server/trust.ts'
import type { ConnectionGuard } from './connections.ts'
import type { DeploymentDeps } from './deployment.ts'
import { openDoor } from './door.ts'
import type { EdgeParts } from './edge.ts'
import type { Fleet } from './fleet-kube.ts'
import { type HandlerParts, wireHandlers } from './handlers.ts'
import { openHistories } from './histories.ts'
import { openServer, originOf, reloadTls } from './listening.ts'

/** The opened parts that the servers answer from. */
export interface ServedParts
  extends Omit<HandlerParts, 'tickets' | 'dataUrl' | 'feed' | 'logStreams' | 'auditLog' | 'edge'> {
  edge: EdgeParts
  fleet: Fleet
  state: { isDraining: boolean }
  meter: PrometheusMeter
  connections: ConnectionGuard
}

/** The servers of the agent. */
export interface Served {
  channel: Server
  /** The origins of the channel and the data address. */
  origins: { channelUrl: string; dataUrl: string }
  stopServing(late: AbortSignal): Promise<void>
  reloadTls(): void
}

/** Serves the channel to the functions and the data address to clients with a ticket, and meters both. */
export async function serveAll(parts: ServedParts): Promise<Served> {
  const { settings, deployment, clock, closers, logger, connections } = parts
  const listening = {
    channel: { host: settings.host, port: settings.port, tls: settings.channelTls },
    data: settings.data,
  }
  const [channel, data] = [await openServer(listening.channel), await openServer(listening.data)]
  closers.add('servers', () => {
    for (const server of [channel, data]) server.closeAllConnections()
  })
  const { store } = deployment
  const trail = createAuditTrail({ store, clock, logger, keepsCommands: settings.auditCommands })
  closers.add('audit', () => trail.flush())
  const reception = createReception(parts, trail)
  const { tickets, verifyToken } = reception
  const dataUrl = settings.data.url ?? originOf(data, listening.data)
  const { feed, auditLog, wrapChannel, closeHistories } = await openHistories(parts, trail)
  const logStreams = createLogStreams({ ...deployment, outputs: parts.drivers.outputs, clock })
  const { handlers, streams, boxes, viewCard } = wireHandlers({
    ...parts,
    feed,
    logStreams,
    auditLog,
    tickets,
    dataUrl,
  })
  const { activity, drivers } = parts
  parts.edge.useBackend({ boxes, activity, verifyToken, runtime: drivers.runtime, tickets })
  parts.meter.observable('gauge', STREAMS_OPEN, () => [{ labels: {}, value: webSockets.open('streams') }])
  parts.meter.observable('gauge', PORTS_OPEN, () => [{ labels: {}, value: webSockets.open('ports') }])
  const bodies = createBodyBudget(settings.limits.largeBodyBytesAtOnce)
  const answering = { ...reception, bodies, idempotency: store.idempotency, handlers }
  const webSockets = createStreamServer({ ...reception, ...settings.limits, handlers: streams })
  const { directory, api } = parts.fleet
  const trusting = { trust: trustChannel(parts), match: matchOperation }
  const refuse = createRefuse({ ...reception, ...trusting })
  const opening = { ...reception, deployment, drivers: parts.drivers, directory, bodies, refuse, viewBox: viewCard }
  const door = api === null ? null : openDoor(parts, opening)
  const wrapData = (own: HttpHandler): HttpHandler => allowPages(refuseUnknownHosts(dataHosts(parts, reception), own))
  const ofData = { trust: trustSender, match: matchTicketed(), entry: null, wrap: wrapData }
  const listeners = [
    {
      name: 'agent',
      server: channel,
      ...trusting,
      entry: door,
      wrap: (own: HttpHandler) => wrapChannel(door?.wrap(own) ?? own),
    },
    { name: 'data', server: data, ...ofData },
  ] as const
  const servings = listeners.map(({ name, server, trust, match, entry, wrap }) => {
    const sources = connections.sources(name)
    connections.bound(server, name)
    webSockets.serve(server, { trust, match, sources, entry })
    const handler = wrap(createDispatch({ ...answering, trust, match }))
    return serve(server, { handler, logger, now: () => clock.now(), sources })
  })
  await serveMetrics(parts)
  const stopServing = async (late: AbortSignal): Promise<void> => {
    closeHistories()
    logStreams.close()
    await Promise.all([...servings, webSockets].map((each) => each.drain(late)))
  }
  const secured = [
    { server: channel, tls: listening.channel.tls },
    { server: data, tls: listening.data.tls },
  ]
  const channelUrl = settings.fleet?.channelUrl ?? originOf(channel, listening.channel)
  return { channel, origins: { channelUrl, dataUrl }, stopServing, reloadTls: () => reloadTls(secured) }
}

/** The hosts that the data address answers for. */
function dataHosts(parts: ServedParts, { verifyToken }: Pick<ReceptionDeps, 'verifyToken'>): HostRule {
  const verify = (headers: HeaderMap): Promise<unknown> => verifyToken(bearerToken(headers))
  return { ...ownHosts(parts), isAuthorized: hostAuthority({ verify, match: matchTicketed() }) }
}

/** Hosts that are this agent's own, by its settings and the machine's names. */
function ownHosts({ settings, clock }: ServedParts): Pick<HostRule, 'isKnown' | 'now'> {
  const { hosts, data, metrics } = settings
  const machine = machineNames({
    hostname: hostname(),
    hosts: tryReadText('/etc/hosts'),
    resolver: tryReadText('/etc/resolv.conf'),
  })
  const given = [data.host, metrics?.host ?? data.host, ...hostsOfOrigins([data.url])]
  return { isKnown: createKnownHosts([...hosts, ...given, ...machine]), now: () => clock.now() }
}

function trustChannel({ deployment: { keys }, clock }: ServedParts): Trust {
  const now = (): number => clock.now()
  const verify = createVerifier({
    keys: () => keys.channel().keys,
    get agentId() {
      return keys.channel().agent_id
    },
    now,
    startedAt: now(),
  })
  return trustSigned((request) => {
    const outcome = verify(request)
    if (outcome.isAccepted) keys.noteChannelKey(outcome.keyId)
    return outcome
  })
}

function createReception(
  { settings, deployment, clock, logger, state, meter, closers }: ServedParts,
  audit: ReceptionDeps['audit'],
): Omit<ReceptionDeps, 'trust' | 'match'> {
  const { keys, tokens, actorContext } = deployment
  let privateKeys = keys.tokens()
  let publicKeys = publicTokenKeys(privateKeys)
  const currentPublicKeys = () => {
    if (keys.tokens() !== privateKeys) {
      privateKeys = keys.tokens()
      publicKeys = publicTokenKeys(privateKeys)
    }
    return publicKeys
  }
  const { limits } = settings
  const openRequests = new OpenRequests({ clock, checkAlive: (id) => tokens.checkAlive(id) })
  tokens.onRevoke(() => openRequests.endRevoked())
  closers.add(
    'open requests',
    repeat(() => openRequests.endExpired(), {
      everyMs: EXPIRY_MS,
      onError: (error) => logger.error('failed to end requests of expired tokens', { error }),
    }),
  )
  return {
    openRequests,
    tickets: createTickets({ clock, cell: settings.fleet?.cell ?? null }),
    verifyToken: createTokenVerifier({ keys: currentPublicKeys, now: () => clock.now() }),
    checkAlive: (id) => tokens.checkAlive(id),
    turns: createProcessorTurns(),
    rateLimit: createRateLimit({
      get perSecond() {
        return limits.rateLimitPerSecond
      },
      get burst() {
        return limits.rateLimitBurst
      },
      clock,
    }),
    isDraining: () => state.isDraining,
    actorContext,
    audit,
    lines: createLineBudget({ now: () => clock.now() }),
    requests: createRequestMeter(meter, clock),
    clock,
    logger,
  }
}

/** Creates a meter with the metrics of this process, which `closers` stop. */
export function createMeter(
  deps: DeploymentDeps,
  version: { version: string; commit: string | null },
): PrometheusMeter {
  const meter = createPrometheusMeter(deps)
  deps.closers.add('metrics of the process', meterProcess(meter, version))
  return meter
}

/** Meters the state and the edge, and serves all metrics at their own address, unless that is off. Rejects if it cannot listen. */
async function serveMetrics(parts: ServedParts): Promise<void> {
  const { settings, closers, logger, clock, meter, connections } = parts
  meterState(meter, { ...parts.drivers, ...parts, store: parts.deployment.store })
  meterEdge(meter, parts.edge.edge)
  if (settings.metrics === null) return
  const server = await openServer({ ...settings.metrics, tls: null }, PLAIN_SERVER_OPTIONS)
  connections.bound(server, 'metrics')
  closers.add('metrics address', () => server.closeAllConnections())
  const handler = createMetricsHandler({ type: PROMETHEUS_TYPE, render: () => meter.render() })
  // Only the address keeps unauthenticated clients out here.
  const hosts = { ...ownHosts(parts), isAuthorized: async () => false }
  const serving = serve(server, { handler: refuseUnknownHosts(hosts, handler), logger, now: () => clock.now() })
  closers.add('metrics', () => serving.drain(AbortSignal.timeout(METRICS_CLOSE_MS)))
}

const STREAMS_OPEN = { name: 'boxyard_streams_open', help: 'WebSockets of commands and consoles.', labels: [] } as const
const PORTS_OPEN = {
  name: 'boxyard_port_connections_open',
  help: 'WebSockets that are connected to ports of boxes.',
  labels: [],
} as const
const METRICS_CLOSE_MS = 1_000
/** Interval between checks for expired tokens. Connections that they opened end within a second. */
const EXPIRY_MS = 500
