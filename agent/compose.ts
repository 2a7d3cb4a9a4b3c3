import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createVerifier } from '../shared/channel.ts'
import { serve } from '../shared/http.ts'
import { publicTokenKeys } from '../shared/keys.ts'
import { matchOperation } from '../shared/match.ts'
import type { HttpHandler } from '../shared/messages.ts'
import type { Health } from '../shared/schemas/system.ts'
import { createTokenVerifier } from '../shared/tokens.ts'
import { createBackupParts } from './backup-parts.ts'
import { createAuditTrail } from './core/audit-trail.ts'
import { recoverAutomatic } from './core/automatic-snapshots.ts'
import { ensureBases } from './core/bases.ts'
import { createBoxActivity } from './core/box-activity.ts'
import { createEventFeed } from './core/event-feed.ts'
import { createExecs } from './core/execs.ts'
import { removeLeftRestores } from './core/file-restores.ts'
import { reportHealth } from './core/health.ts'
import { startIdleStops } from './core/idle-stop.ts'
import { createJobs } from './core/jobs.ts'
import { createRateLimit } from './core/rate-limit.ts'
import { Reconciler } from './core/reconciler.ts'
import { createForks, type Forks, type ForksDeps } from './core/service-forks.ts'
import type { StartsDeps } from './core/service-starts.ts'
import { ServiceSupervisor } from './core/service-supervisor.ts'
import type { Traffic } from './core/service-traffic.ts'
import { meterState } from './core/state-figures.ts'
import { findSubvolumeFaults } from './core/subvolume-faults.ts'
import { createTickets } from './core/tickets.ts'
import { type DeploymentDeps, ensureAdminToken, openDeployment } from './deployment.ts'
import { createLinuxHost, readBootId } from './drivers/host-linux.ts'
import type { PrometheusMeter } from './drivers/meter-prometheus.ts'
import { netProber } from './drivers/prober-net.ts'
import { openDrivers } from './host-drivers.ts'
import { openServer, originOf } from './listen.ts'
import { createMeter, serveMetrics } from './metrics.ts'
import type { Clock } from './ports/clock.ts'
import { createBodyBudget } from './server/body-budget.ts'
import { allowPages, matchTicketed } from './server/data-address.ts'
import { createDispatch } from './server/dispatch.ts'
import type { ReceptionDeps } from './server/reception.ts'
import { createRequestMeter } from './server/request-meter.ts'
import { createStreamServer } from './server/streams.ts'
import { type Trust, trustSender, trustSigned } from './server/trust.ts'
import { scheduleUpkeep } from './upkeep.ts'
import { type HandlerParts, wireHandlers } from './wire-handlers.ts'

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
  const { settings, closers, logger, clock } = deps
  const state = { isDraining: false }
  const meter = createMeter(deps, deps.version)
  const deployment = openDeployment(deps, { exclusive: true })
  const { store, tokens } = deployment
  await ensureAdminToken(settings.dataDir, tokens)
  const drivers = await openDrivers(deps, deployment)
  const { limits } = settings
  const reconciler = new Reconciler({ ...drivers, store, clock, logger, meter, bootId: readBootId(), limits })
  closers.add('reconciler', () => reconciler.close())
  const standingFaults = await findSubvolumeFaults(store, drivers.filesystem)
  await reconciler.recover()
  await recoverAutomatic({ ...drivers, store, clock, reconciler, logger })
  removeLeftRestores({ ...drivers, store, logger }).catch((error: unknown) =>
    logger.error('what restores of files left in boxes could not be looked for', { error }),
  )
  await ensureBases(settings.bases, { ...drivers, store, clock, notices: deps.notices }, signal)
  await scheduleUpkeep({ store, clock, closers, logger, limits })
  const activity = createBoxActivity()
  const execs = createExecs({ ...drivers, store, clock, logger, meter, activity, limits })
  const traffic: Traffic = { settle: async () => undefined, drain: async () => undefined }
  const { forks, supervisor } = await openServices({ ...drivers, store, traffic, clock, logger, limits }, reconciler)
  await execs.recover(await supervisor.outputs())
  await supervisor.recover()
  closers.add('services', () => supervisor.close())
  const jobs = createJobs({ store, clock, logger, meter })
  closers.add('jobs', () => jobs.close())
  const backups = createBackupParts({ ...drivers, store, reconciler, jobs, clock, logger })
  await backups.recover()
  await jobs.loseOthers()
  closers.add('backup schedules', backups.startSchedules())
  const health = (): Promise<Health> =>
    reportHealth({
      ...drivers,
      store,
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
    reconciler,
    execs,
    activity,
    supervisor,
    traffic,
    forks,
    jobs,
    backups,
    health,
    state,
    meter,
  })
  const watching = { edge: NO_URLS, routes: traffic, activity }
  closers.add('idle stops', startIdleStops({ ...watching, store, reconciler, clock, logger }))
  const stop = async (): Promise<void> => {
    state.isDraining = true
    logger.info('draining')
    await stopServing(AbortSignal.timeout(limits.drainMs))
    await execs.close(EXEC_END_MS)
    await closers.run(CLOSE_MS)
  }
  return { address: channel.address() as AddressInfo, stop }
}

/** What brings services about, with the copies of boxes that they have since before this process. */
async function openServices(
  deps: Omit<StartsDeps, 'forks' | 'prober'> & Omit<ForksDeps, 'bury'>,
  reconciler: Reconciler,
): Promise<{ forks: Forks; supervisor: ServiceSupervisor }> {
  const forks = createForks({ ...deps, bury: (tombstone, trees) => reconciler.bury(tombstone, trees) })
  await forks.recover()
  const supervisor = new ServiceSupervisor({ ...deps, forks, prober: netProber })
  reconciler.onChange((boxId) => supervisor.wakeBox(boxId))
  return { forks, supervisor }
}

type Version = HandlerParts['version']

interface Parts extends Omit<HandlerParts, 'tickets' | 'dataUrl' | 'feed' | 'trail'> {
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
  const { store, causes } = deployment
  const trail = createAuditTrail({ store, clock, logger })
  closers.add('audit', () => trail.flush())
  const reception = createReception(parts, trail)
  const { tickets } = reception
  const dataUrl = settings.data.url ?? originOf(data, at.data)
  const feed = createEventFeed({ store, clock })
  const { handlers, streams } = wireHandlers({ ...parts, feed, trail, tickets, dataUrl })
  parts.meter.reading('gauge', STREAMS_OPEN, () => [{ labels: {}, value: webSockets.open() }])
  const bodies = createBodyBudget(limits.largeBodyBytesAtOnce)
  const answering = { ...reception, bodies, idempotency: store.idempotency, handlers, causes }
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
  await serveMetrics(parts, parts.meter)
  const stopServing = async (late: AbortSignal): Promise<void> => {
    feed.close()
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
  const { keys, tokens } = deployment
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
    audit,
    requests: createRequestMeter(meter, clock),
    clock,
    logger,
  }
}

// Nothing serves URLs of boxes.
const NO_URLS = { use: async () => new Map() }
const STREAMS_OPEN = { name: 'boxyard_streams_open', help: 'WebSockets of commands and consoles.', labels: [] } as const
const EXEC_END_MS = 2_000
const CLOSE_MS = 15_000
