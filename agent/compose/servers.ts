import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, Server as TlsServer } from 'node:tls'
import { createVerifier } from '../../shared/auth/channel.ts'
import { publicTokenKeys } from '../../shared/auth/keys.ts'
import { createTokenVerifier } from '../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../../shared/http/serve.ts'
import { matchOperation } from '../../shared/match.ts'
import { createRateLimit } from '../core/access/rate-limit.ts'
import { createTickets } from '../core/access/tickets.ts'
import { meterEdge } from '../core/edge/metrics.ts'
import { createAuditTrail } from '../core/events/audit-trail.ts'
import { createEventFeed } from '../core/events/feed.ts'
import { meterState } from '../core/health/state-metrics.ts'
import { createLogStreams } from '../core/services/logs.ts'
import { meterProcess } from '../drivers/host/process-metrics.ts'
import { createPrometheusMeter, PROMETHEUS_TYPE, type PrometheusMeter } from '../drivers/metrics/meter-prometheus.ts'
import { createBodyBudget } from '../server/body-budget.ts'
import { allowPages, matchTicketed } from '../server/data-address.ts'
import { createDispatch } from '../server/dispatch.ts'
import { createMetricsHandler, createRequestMeter } from '../server/metrics.ts'
import type { ReceptionDeps } from '../server/reception.ts'
import { createStreamServer } from '../server/streams.ts'
import { type Trust, trustSender, trustSigned } from '../server/trust.ts'
import type { DeploymentDeps } from './deployment.ts'
import type { EdgeParts } from './edge.ts'
import { type HandlerParts, wireHandlers } from './handlers.ts'

/** The opened parts that the servers answer from. */
export interface ServedParts
  extends Omit<HandlerParts, 'tickets' | 'dataUrl' | 'feed' | 'logStreams' | 'trail' | 'edge'> {
  edge: EdgeParts
  state: { isDraining: boolean }
  meter: PrometheusMeter
}

/** Serves the channel to the functions and the data address to clients with a ticket, and meters both. */
export async function serveAll(
  parts: ServedParts,
): Promise<{ channel: Server; stopServing(late: AbortSignal): Promise<void>; reloadTls(): void }> {
  const { settings, deployment, clock, closers, logger } = parts
  const { limits } = settings
  const listening = {
    channel: { host: settings.host, port: settings.port, tls: settings.channelTls },
    data: settings.data,
  }
  const [channel, data] = [await openServer(listening.channel), await openServer(listening.data)]
  closers.add('servers', () => {
    for (const server of [channel, data]) server.closeAllConnections()
  })
  const { store } = deployment
  const trail = createAuditTrail({ store, clock, logger })
  closers.add('audit', () => trail.flush())
  const reception = createReception(parts, trail)
  const { tickets } = reception
  const dataUrl = settings.data.url ?? originOf(data, listening.data)
  const checkAlive = (id: string): Promise<void> => deployment.tokens.checkAlive(id)
  const feed = createEventFeed({ store, clock, checkAlive })
  const logStreams = createLogStreams({ outputs: parts.drivers.outputs, clock, checkAlive })
  const { handlers, streams, boxes } = wireHandlers({ ...parts, feed, logStreams, trail, tickets, dataUrl })
  parts.edge.useBackend({ boxes, activity: parts.activity, verifyToken: reception.verifyToken })
  parts.meter.observable('gauge', STREAMS_OPEN, () => [{ labels: {}, value: webSockets.open() }])
  const bodies = createBodyBudget(limits.largeBodyBytesAtOnce)
  const answering = { ...reception, bodies, idempotency: store.idempotency, handlers }
  const webSockets = createStreamServer({ ...reception, handlers: streams, streamsAtOnce: limits.streamsAtOnce })
  const listeners = [
    { server: channel, trust: trustChannel(parts), match: matchOperation, wrap: (app: HttpHandler) => app },
    { server: data, trust: trustSender, match: matchTicketed(), wrap: allowPages },
  ]
  const servings = listeners.map(({ server, trust, match, wrap }) => {
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
  const secured = [
    { server: channel, tls: listening.channel.tls },
    { server: data, tls: listening.data.tls },
  ]
  return { channel, stopServing, reloadTls: () => reloadTls(secured) }
}

function trustChannel({ deployment: { keys }, clock }: ServedParts): Trust {
  const now = (): number => clock.now()
  const { agent_id: agentId } = keys.channel()
  const verify = createVerifier({ keys: () => keys.channel().keys, agentId, now, startedAt: now() })
  return trustSigned((request) => {
    const outcome = verify(request)
    if (outcome.isAccepted) keys.noteChannelKey(outcome.keyId)
    return outcome
  })
}

function createReception(
  { settings, deployment, clock, logger, state, meter }: ServedParts,
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
  return {
    tickets: createTickets({ clock }),
    verifyToken: createTokenVerifier({ keys: currentPublicKeys, now: () => clock.now() }),
    checkAlive: (id) => tokens.checkAlive(id),
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
  deps.closers.add('figures of the process', meterProcess(meter, version))
  return meter
}

/** Serves the metrics at their own address, unless that is off. Rejects if it cannot listen. */
async function serveMetrics(
  { settings, closers, logger, clock }: DeploymentDeps,
  meter: PrometheusMeter,
): Promise<void> {
  if (settings.metrics === null) return
  const server = await openServer({ ...settings.metrics, tls: null })
  closers.add('metrics address', () => server.closeAllConnections())
  const handler = createMetricsHandler({ type: PROMETHEUS_TYPE, render: () => meter.render() })
  const serving = serve(server, { handler, logger, now: () => clock.now() })
  closers.add('metrics', () => serving.drain(AbortSignal.timeout(METRICS_CLOSE_MS)))
}

/** Address and TLS files (PEM) of a server; with `ca`, clients must show a certificate of that CA. */
interface Listening {
  host: string
  port: number
  tls: { ca?: string; cert: string; key: string } | null
}

/** Creates a server that listens and has no request listener yet. Rejects if it cannot listen. */
async function openServer({ host, port, tls }: Listening): Promise<Server> {
  const server = tls ? createTlsServer({ ...SERVER_OPTIONS, ...readTls(tls) }) : createServer(SERVER_OPTIONS)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return server
}

/** Returns the origin by which this host reaches the server. */
function originOf(server: Server, { host, tls }: Listening): string {
  const { port } = server.address() as AddressInfo
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Has servers take the certificates that their files hold now, or none of them. @throws Error that names the file */
function reloadTls(all: readonly { server: Server; tls: Listening['tls'] }[]): void {
  const changes: (() => void)[] = []
  for (const { server, tls } of all) {
    if (tls === null || !(server instanceof TlsServer)) continue
    try {
      const read = readTls(tls)
      createSecureContext(read)
      changes.push(() => server.setSecureContext(read))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      throw new Error(`The certificate ${tls.cert} with the key ${tls.key} cannot be used: ${cause}`, { cause: error })
    }
  }
  for (const change of changes) change()
}

function readTls({ ca, cert, key }: NonNullable<Listening['tls']>) {
  const own = { cert: readFileSync(cert), key: readFileSync(key) }
  return ca === undefined ? own : { ...own, ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true }
}

const STREAMS_OPEN = { name: 'boxyard_streams_open', help: 'WebSockets of commands and consoles.', labels: [] } as const
const METRICS_CLOSE_MS = 1_000
