import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createVerifier } from '../../shared/auth/channel.ts'
import { publicTokenKeys } from '../../shared/auth/keys.ts'
import { createTokenVerifier } from '../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import { serve } from '../../shared/http/serve.ts'
import { matchOperation } from '../../shared/match.ts'
import type { Health } from '../../shared/schemas/health.ts'
import { createRateLimit } from '../core/access/rate-limit.ts'
import { createTickets } from '../core/access/tickets.ts'
import { startIdleStops } from '../core/edge/idle-stop.ts'
import { meterEdge } from '../core/edge/metrics.ts'
import { createAuditTrail } from '../core/events/audit-trail.ts'
import { createEventFeed } from '../core/events/feed.ts'
import { reportHealth } from '../core/health/health.ts'
import { meterState } from '../core/health/state-metrics.ts'
import { createLogStreams } from '../core/services/logs.ts'
import { createLinuxHost } from '../drivers/host/facts.ts'
import type { PrometheusMeter } from '../drivers/metrics/meter-prometheus.ts'
import type { Clock } from '../ports/host/clock.ts'
import { createBodyBudget } from '../server/body-budget.ts'
import { allowPages, matchTicketed } from '../server/data-address.ts'
import { createDispatch } from '../server/dispatch.ts'
import type { ReceptionDeps } from '../server/reception.ts'
import { createRequestMeter } from '../server/request-meter.ts'
import { createStreamServer } from '../server/streams.ts'
import { type Trust, trustSender, trustSigned } from '../server/trust.ts'
import { startCoreParts } from './core.ts'
import { type DeploymentDeps, ensureAdminToken, openDeployment } from './deployment.ts'
import { openDrivers } from './drivers.ts'
import { type EdgeParts, openEdge } from './edge.ts'
import { wireHandlers } from './handlers.ts'
import { openServer, originOf } from './listen.ts'
import { createMeter, serveMetrics } from './metrics.ts'
import type { HandlerParts } from './parts.ts'

/** An agent that serves. */
export interface Agent {
  address: AddressInfo
  /** Refuses new work, lets what runs come to its end, and leaves the boxes running. */
  stop(): Promise<void>
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { ref: false, ...(signal ? { signal } : {}) }).catch(() => undefined),
}

/** Starts the agent: the one place that picks drivers and wires all parts. */
export async function startAgent(deps: DeploymentDeps & { version: Version }, signal: AbortSignal): Promise<Agent> {
  const { settings, closers, clock, logger } = deps
  const state = { isDraining: false }
  const meter = createMeter(deps, deps.version)
  const deployment = openDeployment(deps, { exclusive: true })
  const { store, tokens } = deployment
  await ensureAdminToken(settings.dataDir, tokens)
  const drivers = await openDrivers(deps, deployment)
  const edge = await openEdge(deps, deployment, drivers.network)
  const { standingFaults, ...parts } = await startCoreParts(
    { ...deps, deployment, drivers, routes: edge.routes, meter },
    signal,
  )
  const { reconciler, execs, activity } = parts
  const health = (): Promise<Health> =>
    reportHealth({
      ...drivers,
      store,
      edge: edge.edge,
      reconciler,
      host: createLinuxHost(),
      logger,
      dataDir: settings.dataDir,
      isDraining: () => state.isDraining,
      standingFaults,
    })
  const { channel, stopServing } = await serveAll({
    ...deps,
    deployment,
    drivers,
    ...parts,
    edge,
    health,
    state,
    meter,
  })
  const watching = { edge: edge.edge, routes: edge.routes, activity }
  closers.add('idle stops', startIdleStops({ ...watching, store, reconciler, clock, logger }))
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

interface Parts extends Omit<HandlerParts, 'tickets' | 'dataUrl' | 'feed' | 'logStreams' | 'trail' | 'edge'> {
  edge: EdgeParts
  state: { isDraining: boolean }
  meter: PrometheusMeter
}

/** Serves the functions over the channel, and at the data address whoever has a ticket. */
async function serveAll(parts: Parts): Promise<{ channel: Server; stopServing(late: AbortSignal): Promise<void> }> {
  const { settings, deployment, clock, closers, logger } = parts
  const { limits } = settings
  const at = {
    channel: { host: settings.host, port: settings.port, tls: settings.channelTls },
    data: settings.data,
  }
  const [channel, data] = [await openServer(at.channel), await openServer(at.data)]
  closers.add('servers', () => {
    for (const server of [channel, data]) server.closeAllConnections()
  })
  const { store } = deployment
  const trail = createAuditTrail({ store, clock, logger })
  closers.add('audit', () => trail.flush())
  const reception = createReception(parts, trail)
  const { tickets } = reception
  const dataUrl = settings.data.url ?? originOf(data, at.data)
  const checkAlive = (id: string): Promise<void> => deployment.tokens.checkAlive(id)
  const feed = createEventFeed({ store, clock, checkAlive })
  const logStreams = createLogStreams({ outputs: parts.drivers.outputs, clock, checkAlive })
  const { handlers, streams, boxes } = wireHandlers({ ...parts, feed, logStreams, trail, tickets, dataUrl })
  parts.edge.decideBy({ boxes, activity: parts.activity, verifyToken: reception.verifyToken })
  parts.meter.observable('gauge', STREAMS_OPEN, () => [{ labels: {}, value: webSockets.open() }])
  const bodies = createBodyBudget(limits.largeBodyBytesAtOnce)
  const answering = { ...reception, bodies, idempotency: store.idempotency, handlers }
  const webSockets = createStreamServer({ ...reception, handlers: streams, streamsAtOnce: limits.streamsAtOnce })
  const ways = [
    { server: channel, trust: trustChannel(parts), match: matchOperation, wrap: (app: HttpHandler) => app },
    { server: data, trust: trustSender, match: matchTicketed(), wrap: allowPages },
  ]
  const servings = ways.map(({ server, trust, match, wrap }) => {
    webSockets.serve(server, { trust, match })
    const handler = wrap(createDispatch({ ...answering, trust, match }))
    return serve(server, { handler, logger, now: () => clock.now() })
  })
  meterState(parts.meter, { ...parts.drivers, ...parts, store })
  meterEdge(parts.meter, parts.edge.edge)
  await serveMetrics(parts, parts.meter)
  const stopServing = async (late: AbortSignal): Promise<void> => {
    feed.close()
    logStreams.close()
    await Promise.all([...servings, webSockets].map((each) => each.drain(late)))
  }
  return { channel, stopServing }
}

function trustChannel({ deployment: { keys }, clock }: Parts): Trust {
  const now = (): number => clock.now()
  const { agent_id: agentId } = keys.channel()
  return trustSigned(createVerifier({ keys: () => keys.channel().keys, agentId, now, startedAt: now() }))
}

function createReception(
  { settings, deployment, clock, logger, state, meter }: Parts,
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
  const { rateLimitPerSecond: perSecond, rateLimitBurst: burst } = settings.limits
  return {
    tickets: createTickets({ clock }),
    verifyToken: createTokenVerifier({ keys: currentPublicKeys, now: () => clock.now() }),
    checkAlive: (id) => tokens.checkAlive(id),
    rateLimit: createRateLimit({ perSecond, burst, clock }),
    isDraining: () => state.isDraining,
    actorContext,
    audit,
    requests: createRequestMeter(meter, clock),
    clock,
    logger,
  }
}

const STREAMS_OPEN = { name: 'boxyard_streams_open', help: 'WebSockets of commands and consoles.', labels: [] } as const
const EXEC_END_MS = 2_000
const CLOSE_MS = 15_000
