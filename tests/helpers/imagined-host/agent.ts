import { startCoreParts } from '../../../agent/compose/core.ts'
import type { Deployment, DeploymentDeps } from '../../../agent/compose/deployment.ts'
import type { Drivers } from '../../../agent/compose/drivers.ts'
import { openFleet } from '../../../agent/compose/fleet.ts'
import { wireHandlers } from '../../../agent/compose/handlers.ts'
import { openHistories } from '../../../agent/compose/histories.ts'
import { createClosers } from '../../../agent/compose/shutdown.ts'
import { readAgentSettings } from '../../../agent/config/agent.ts'
import { createRateLimit } from '../../../agent/core/access/rate-limit.ts'
import { createTickets } from '../../../agent/core/access/tickets.ts'
import { createEdgeGrants } from '../../../agent/core/edge/grants.ts'
import { createEdgeRoutes } from '../../../agent/core/edge/routes.ts'
import { createLogStreams } from '../../../agent/core/services/logs.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { createActorContext } from '../../../agent/lib/actor-context.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import type { Actor } from '../../../agent/ports/store/events.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createDispatch } from '../../../agent/server/dispatch.ts'
import { createRequestMeter } from '../../../agent/server/metrics.ts'
import { OpenRequests } from '../../../agent/server/open-requests.ts'
import { trustSender } from '../../../agent/server/trust.ts'
import { createBackupKeys } from '../../../shared/auth/keys.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import type { HttpHandler, HttpResponse } from '../../../shared/http/messages.ts'
import { matchOperation } from '../../../shared/match.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { type Tap, tapCalls } from '../tapped-calls.ts'
import { createImaginedBackupStore, createImaginedEdge, createImaginedFiles, createImaginedOutputs } from './drivers.ts'
import { createImaginedAccounts, createImaginedPool } from './pool.ts'
import { createImaginedNetwork, createImaginedRuntime } from './runtime.ts'
import type { ImaginedWorld } from './world.ts'

/** A host without Linux. Its world and its data directory outlive its agents. */
export interface ImaginedHost {
  world: ImaginedWorld
  dataDir: string
}

/** An agent's clock, and the tap between its core and its ports. */
export interface AgentOptions {
  clock: Clock
  tap: Tap
}

/** A real core over an imagined host. */
export interface ImaginedAgent {
  /** Sends a request with a token that has all permissions. */
  send(method: string, target: string, body?: unknown, headers?: Record<string, string>): Promise<HttpResponse>
  /** The database, for reads by a test. */
  store: Store
  /** Closes only the database and the timers, as the end of the process does. */
  drop(): Promise<void>
}

/** Starts an agent as `compose/agent.ts` does. Starts the edge first, then the core, which recovers the state of earlier agents. */
export async function startImaginedAgent(host: ImaginedHost, { clock, tap }: AgentOptions): Promise<ImaginedAgent> {
  const { world, dataDir } = host
  const logger = silentLogger
  const settings = settingsOf(dataDir)
  const closers = createClosers(logger)
  const timers: (() => Promise<void> | void)[] = []
  const deps: DeploymentDeps = {
    ...{ settings, clock, logger, notices: logger, decorate: (_port, driver) => driver },
    closers: {
      add: (name, close) => {
        if (TIMERS.includes(name)) timers.push(close)
        else closers.add(name, close)
      },
      run: closers.run,
    },
  }
  const actorContext = createActorContext<Actor>()
  const outbox = { now: () => clock.now(), actorContext }
  const database = openSqliteStore(`${dataDir}/boxyard.db`, { outbox })
  const store = tapCalls('store', database, tap)
  const data = { instanceId: 'imagined', runDir: dataDir, keys: KEYS, store, actorContext }
  const fleet = await openFleet(deps, data, VERSION)
  const deployment = { ...data, tokens: fleet.tokens }
  const drivers = driversOf(world, { clock, tap }, fleet.directory)
  await drivers.runtime.open()
  const edge = tapCalls('edge', createImaginedEdge(world), tap)
  const grants = createEdgeGrants({ grants: store.edgeGrants, edge, clock })
  const routing = { store, network: drivers.network, edge, address: AT_EDGE, claims: fleet.claims, clock, logger }
  const routes = createEdgeRoutes({ ...routing, onNewDomain: () => grants.revokeEnded() })
  await routes.open(async (all) => edge.open({ routes: all, grants: await grants.live(), gate: NO_GATE }))
  const starting = { ...deps, deployment, drivers, routes, meter: silentMeter }
  const parts = await startCoreParts(starting, new AbortController().signal)
  const tickets = createTickets({ clock, cell: null })
  const checkAlive = async (): Promise<void> => undefined
  const { feed, auditLog } = await openHistories({ ...deps, deployment, fleet }, {
    flush: async () => undefined,
  } as never)
  const wired = wireHandlers({
    ...{ ...starting, ...parts, tickets, feed, auditLog, edge: { routes, address: AT_EDGE, claims: fleet.claims } },
    ...{ version: { version: VERSION, commit: null }, dataUrl: 'http://127.0.0.1:8091', health: NO_HEALTH },
    logStreams: createLogStreams({ ...deployment, outputs: drivers.outputs, clock }),
  })
  const dispatch = createDispatch({
    ...{
      trust: trustSender,
      match: matchOperation,
      verifyToken: async () => CLAIMS,
      checkAlive,
      openRequests: new OpenRequests({ clock, checkAlive }),
      tickets,
      actorContext,
    },
    ...{ rateLimit: createRateLimit({ perSecond: 1e6, burst: 1e6, clock }), isDraining: () => false, clock, logger },
    // A test has one caller, so requests never wait for a turn.
    turns: { run: (_account, work) => work((later) => later()) },
    ...{ audit: { add: () => undefined }, requests: createRequestMeter(silentMeter, clock) },
    ...{ bodies: createBodyBudget(1024 ** 2), idempotency: store.idempotency, handlers: wired.handlers },
  })
  return {
    send: (method, target, body, headers = {}) => dispatch(requestOf(method, target, { body, headers })),
    store: database,
    drop: async () => {
      for (const close of timers) await close()
      await database.close()
    },
  }
}

function driversOf(world: ImaginedWorld, { clock, tap }: AgentOptions, directory: Drivers['directory']): Drivers {
  const tapped = <T extends object>(port: string, driver: T): T => tapCalls(port, driver, tap)
  return {
    filesystem: tapped('filesystem', createImaginedPool(world)),
    accounts: tapped('accounts', createImaginedAccounts(world)),
    runtime: tapped(
      'runtime',
      createImaginedRuntime(world, () => clock.now()),
    ),
    network: tapped('network', createImaginedNetwork(world)),
    outputs: tapped('outputs', createImaginedOutputs(world)),
    files: tapped('files', createImaginedFiles()),
    backupStore: tapped('backupStore', createImaginedBackupStore(world)),
    registry: { find: () => Promise.reject(new Error('There is no registry.')) },
    builder: { names: ['busybox'], build: async () => undefined },
    prober: { probe: async () => null },
    cluster: { report: async () => NO_CLUSTER, place: async () => NO_PLACE, onRefusal: () => () => undefined },
    ...{ directory: tapped('directory', directory), places: null, warmUp: () => undefined },
  }
}

function settingsOf(dataDir: string): DeploymentDeps['settings'] {
  // Disables the pool reserve, because its checks of the pool use real time.
  return { ...SETTINGS, dataDir, pool: { ...SETTINGS.pool, reservePercent: 0 } }
}

interface RequestParts {
  body: unknown
  headers: Record<string, string>
}

function requestOf(method: string, target: string, { body, headers }: RequestParts): Parameters<HttpHandler>[0] {
  const bytes = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body))
  return {
    ...{ method, target, clientAddress: '127.0.0.1', signal: new AbortController().signal },
    headers: { authorization: 'Bearer t', 'content-type': 'application/json', ...headers },
    readBody: async () => bytes,
    openBody: async function* () {
      yield bytes
    },
  }
}

/** Address of the imagined edge. */
export const AT_EDGE = { domain: 'localhost', scheme: 'http', port: 8081 } as const
/** Timers that use real time, and would keep running in a dead agent. */
const TIMERS = ['retention', 'history of metrics']
const SETTINGS = readAgentSettings({ BOXYARD_BASE: 'busybox', BOXYARD_MEMORY_RESERVE_MB: '0' })
const VERSION = '0.0.0'
const CLAIMS = {
  ...{ jti: 'tok_00000000000000000000000000', sub: 'test', projects: '*' as const, iat: 0, exp: null },
  permissions: ['read', 'write', 'exec', 'ports', 'admin'] as const,
}
/** An imagined agent has only a key for its backups. The key outlives it. */
const BACKUP_KEYS = createBackupKeys()
const KEYS = { backups: () => BACKUP_KEYS } as Deployment['keys']
const NO_ANSWER = (): Promise<never> => Promise.reject(new Error('There is no gate.'))
const NO_GATE = { decide: NO_ANSWER, certifies: async () => false, reach: NO_ANSWER, refuse: NO_ANSWER }
const NO_HEALTH = (): Promise<never> => Promise.reject(new Error('Tests measure no health here.'))
const NO_CLUSTER = { namespace: '', nodes: [], problems: [] }
const NO_PLACE = { warm: 0, refusal: null }
