import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../shared/log.ts'
import type { HttpHandler } from '../../shared/messages.ts'
import type { Clock } from '../ports/clock.ts'
import type { Edge, EdgeUse } from '../ports/edge.ts'
import { commandHaproxy, readUses } from './edge-admin.ts'
import { drainTarget } from './edge-drain.ts'
import { readServed } from './edge-figures.ts'
import { type GateServer, openGateServer } from './edge-gate-server.ts'
import { createEdgeMap, type EdgeMap, grantChange, type MapChange, routeChange } from './edge-maps.ts'
import { edgePaths } from './edge-names.ts'
import { endEdge } from './edge-process.ts'
import { createEdgeSupervisor, type EdgeSupervisor, type SupervisorOptions } from './edge-supervisor.ts'

export interface HaproxyEdgeOptions {
  /** Of this deployment; the edge keeps its files below it. */
  runDir: string
  /** Address to listen on. */
  host: string
  /** 0: a free one, which the edge keeps over restarts. */
  port: number
  /** The host that serves pages of the agent's own, and never what a box says. */
  signInHost: string
  /** What browsers say before `://`. */
  scheme: 'http' | 'https'
  /** A directory of PEM files, certificate and key in one or side by side; null: plain HTTP. */
  certificates: string | null
  /** How tokens of this deployment begin, so that no box is given one. Not empty. */
  tokenPrefixes: readonly string[]
  /** Addresses, or networks in CIDR notation, whose `X-Forwarded-For` says for whom they ask, as its last entry. */
  trustedProxies: readonly string[]
  /** Serves the sign-in host, and `/.boxyard/` of every host. */
  pages: HttpHandler
  logger: Logger
  clock: Clock
}

/** An edge of Debian's HAProxy, a process of its own that outlives this one and is adopted by the next. */
export function createHaproxyEdge(options: HaproxyEdgeOptions): Edge {
  const { runDir, logger, clock } = options
  const paths = edgePaths(runDir)
  const routes = createEdgeMap(paths.routes)
  const grants = createEdgeMap(paths.grants)
  const inTurn = createTurns()
  const supervisor = createEdgeSupervisor({ ...supervisionOf(options, [routes, grants]), inTurn })
  let gateServer: GateServer | null = null
  let chores: NodeJS.Timeout | undefined

  const change = (map: EdgeMap, changeOf: () => MapChange): Promise<void> =>
    inTurn(() => serveChange(supervisor, map.change(changeOf()), [routes, grants]))
  const doChores = async (): Promise<void> => {
    const expired = grantsWhere(grants, (_key, expiry) => expiry <= clock.now() / 1000)
    if (expired.size > 0) await change(grants, () => expired)
    await inTurn(() => supervisor.refresh())
    await inTurn(() => supervisor.reap())
  }
  return {
    get port() {
      return supervisor.port
    },
    open: async (state) => {
      mkdirSync(paths.directory, { recursive: true, mode: 0o700 })
      chmodSync(paths.directory, 0o700)
      mkdirSync(paths.jail, { recursive: true })
      chmodSync(paths.jail, 0o755)
      gateServer = await openGateServer({
        paths,
        gate: state.gate,
        pages: options.pages,
        logger,
        now: () => clock.now(),
      })
      routes.reset(entriesOf(routeChange(state.routes, [])))
      grants.reset(entriesOf(grantChange(state.grants)))
      await inTurn(() => supervisor.open())
      chores = setInterval(() => {
        doChores().catch((error: unknown) => logger.warn('a chore of the edge failed', { error }))
      }, CHORES_MS).unref()
    },
    change: ({ set = [], remove = [] }) => change(routes, () => routeChange(set, remove)),
    grant: (given) => change(grants, () => grantChange(given)),
    revoke: (credentials) => {
      const gone = new Set(credentials)
      return change(grants, () => grantsWhere(grants, (key) => gone.has(key.split('@', 1)[0] ?? '')))
    },
    drain: (target, graceMs) => drainTarget({ target, graceMs, clock, processes: () => supervisor.processes() }),
    use: () => readUse(supervisor),
    figures: async () => ({ starts: supervisor.starts(), served: await readServed(supervisor.processes(), paths) }),
    problems: async () => problemsOf(supervisor),
    close: async ({ release }) => {
      clearInterval(chores)
      supervisor.close()
      const server = gateServer
      gateServer = null
      await inTurn(() => server?.close() ?? Promise.resolve())
      if (release) await endEdge(runDir)
    },
  }
}

function supervisionOf(options: HaproxyEdgeOptions, maps: readonly EdgeMap[]): Omit<SupervisorOptions, 'inTurn'> {
  const { runDir, host, signInHost, scheme, certificates, tokenPrefixes, trustedProxies, logger, clock } = options
  const luaFingerprint = fingerprintOf([LUA_PATH])
  return {
    runDir,
    port: options.port,
    logger,
    clock,
    settingsFor: (port) => ({
      paths: edgePaths(runDir),
      host,
      port,
      signInHost,
      scheme,
      tokenPrefixes,
      trustedProxies,
      certificates: certificates === null ? null : readCertificates(certificates),
      lua: { path: LUA_PATH, fingerprint: luaFingerprint },
    }),
    writeMaps: () => {
      for (const map of maps) map.write()
    },
    syncMaps: async ({ socket }) => {
      for (const map of maps) await map.sync(socket)
    },
  }
}

// The processes that only bring connections to their end may get one request more on each of them.
async function serveChange(
  supervisor: EdgeSupervisor,
  commands: readonly string[],
  maps: readonly EdgeMap[],
): Promise<void> {
  const [current, ...retired] = supervisor.processes()
  if (commands.length === 0 || !current) return
  for (const { socket } of retired) await commandHaproxy(socket, commands).catch(() => undefined)
  try {
    await commandHaproxy(current.socket, commands)
  } catch {
    try {
      for (const map of maps) await map.sync(current.socket)
    } catch {
      await supervisor.revive()
    }
  }
}

async function readUse(supervisor: EdgeSupervisor): Promise<Map<string, EdgeUse>> {
  const use = new Map<string, EdgeUse>()
  for (const { socket } of supervisor.processes()) {
    const uses = await readUses(socket, { isOpen: false }).catch(() => [])
    for (const { boxId, open, requests } of uses) {
      const sum = use.get(boxId) ?? { requests: 0, open: 0 }
      use.set(boxId, { requests: sum.requests + requests, open: sum.open + open })
    }
  }
  return use
}

function problemsOf(supervisor: EdgeSupervisor): { code: string; evidence: string; remedy: string }[] {
  const evidence = supervisor.problem()
  if (evidence === null) return []
  const [code, consequence] =
    supervisor.processes().length === 0
      ? ['edge_down', 'No URL of a box answers.']
      : ['edge_outdated', 'The edge serves with the settings and certificates it had before.']
  return [{ code, evidence: `${consequence} ${evidence}`, remedy: REMEDY }]
}

function grantsWhere(grants: EdgeMap, is: (key: string, expirySeconds: number) => boolean): MapChange {
  const keys = [...grants.keys()].filter((key) => is(key, Number(grants.valueOf(key))))
  return new Map(keys.map((key) => [key, null]))
}

function* entriesOf(change: MapChange): Generator<[string, string]> {
  for (const [key, value] of change) if (value !== null) yield [key, value]
}

function readCertificates(directory: string): { directory: string; fingerprint: string } {
  const names = readdirSync(directory).sort()
  return { directory, fingerprint: fingerprintOf(names.map((name) => join(directory, name))) }
}

function fingerprintOf(paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(path))
  return hash.digest('hex')
}

/** Each waits for those before it, whether they succeed or not. */
function createTurns(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const turn = last.then(task)
    last = turn.catch(() => undefined)
    return turn
  }
}

const LUA_PATH = new URL('edge-gate.lua', import.meta.url).pathname
const CHORES_MS = 5_000
const REMEDY =
  'Install haproxy (infra/setup.sh host), see that nothing else listens on BOXYARD_EDGE_PORT and that BOXYARD_EDGE_CERTIFICATES holds good PEM files; it is tried again by itself.'
