import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FIRST_CLUSTER_PORT } from '../../infra/cluster/record.ts'
import { agentCommand, frontCommand } from '../../infra/commands.ts'
import { type LoggingChild, startLoggingChild } from '../../infra/logging-child.ts'
import { stopChild } from '../../infra/service-process.ts'
import { clusterOfTests, runtimeOfTests } from './pods/cluster-of-tests.ts'
import { TESTED_AGENT, TESTED_FRONT, TESTED_FRONT_SETTINGS } from './programs.ts'
import { type SharedService, workerService } from './shared-service.ts'

export interface TestServiceOptions {
  /** `BOXYARD_*` settings, added to the settings of a small service with base busybox. */
  settings?: Record<string, string>
  /** False starts only the agent. Default true. */
  front?: boolean
  /** Replaces agent/main.ts. */
  agentScript?: string
  /** Runs both on a node of this host. `address` is the node's address, and `enter` is a program that starts another one there. */
  on?: { address: string; enter: string }
  /** Prepares the data directory before anything starts. */
  prepare?(dataDir: string): void
}

/** An agent and a standalone front with real boxes, run as a user runs them. */
export interface TestService extends SharedService {
  /** Signals the agent (default SIGKILL) and waits until it exits. Boxes keep running. */
  killAgent(signal?: NodeJS.Signals): Promise<void>
  /** Starts the agent after `killAgent`, on the same port, with changed `settings`. */
  startAgent(settings?: Record<string, string>): Promise<void>
  /** Kills the front and waits until it exits. */
  killFront(): Promise<void>
  /** Starts the front after `killFront`, on the same port. */
  startFront(): Promise<void>
  /** Stops both gracefully and restarts them on the same ports. */
  restart(): Promise<void>
  /** Runs a mode of the agent, such as `down`, to completion and returns its output. Throws unless it exits with 0. */
  runAgentMode(...args: string[]): Promise<string>
  /** Stops the processes, takes the boxes down and removes the data directory. Throws if a step fails or an agent crashed. */
  close(): Promise<void>
}

/**
 * Starts a service in a temporary data directory and waits until it is ready. Close it even after a failure.
 * Closes the worker's service first, because a host has numbers for only twelve instances.
 */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  await workerService()?.closeUnused()
  const dataDir = mkdtempSync(join(tmpdir(), 'boxyard-service-'))
  options.prepare?.(dataDir)
  const { address: host, enter: program } = options.on ?? { address: '127.0.0.1', enter: null }
  const environment = { ...(await settingsOf(dataDir, options)), ...(program === null ? {} : settingsAt(host)) }
  const urlAt = (port: string): string => `http://${host}:${environment[port]}`
  if (program !== null) environment['BOXYARD_AGENT_URL'] = urlAt('BOXYARD_AGENT_PORT')
  const enter = program === null ? [] : [program]
  const processes = createProcesses(environment, {
    hasFront: options.front !== false,
    agentScript: options.agentScript,
    enter,
  })
  const service = {
    url: urlAt('BOXYARD_PORT'),
    agentUrl: urlAt('BOXYARD_AGENT_PORT'),
    metricsUrl: `${urlAt('BOXYARD_METRICS_PORT')}/metrics`,
    dataUrl: urlAt('BOXYARD_DATA_PORT'),
    dataDir,
    environment,
    logs: processes.logs,
    get adminToken() {
      return readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()
    },
    get agentPid() {
      return processes.agentPid()
    },
    get frontPid() {
      return processes.frontPid()
    },
    request: (path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${service.adminToken}`)
      return fetch(`${service.url}${path}`, { ...init, headers })
    },
    killAgent: processes.killAgent,
    startAgent: async (settings: Record<string, string> = {}) => {
      Object.assign(environment, settings)
      await processes.startAgent()
    },
    killFront: processes.killFront,
    startFront: processes.startFront,
    restart: async () => {
      await processes.stop()
      await processes.start()
    },
    runAgentMode: (...args: string[]) => runToEnd([...enter, ...agentCommand(args, TESTED_AGENT)], environment),
    close: async () => {
      try {
        await processes.stop()
        await runToEnd([...enter, ...agentCommand(['down'], TESTED_AGENT)], environment)
      } finally {
        rmSync(dataDir, { recursive: true, force: true })
      }
      const crash = processes.crash()
      if (crash !== null) throw new Error(`The agent crashed.\n${crash}`)
    },
  }
  try {
    await processes.start()
  } catch (error) {
    await service.close().catch(() => undefined)
    throw new Error(`The service did not start.\n${service.logs.join('\n')}`, { cause: error })
  }
  return service
}

async function settingsOf(dataDir: string, { settings }: TestServiceOptions): Promise<NodeJS.ProcessEnv> {
  return {
    PATH: process.env['PATH'],
    ...DEFAULTS,
    BOXYARD_DATA_DIR: dataDir,
    BOXYARD_PORT: String(await freePort()),
    BOXYARD_AGENT_PORT: String(await freePort()),
    BOXYARD_DATA_PORT: String(await freePort()),
    BOXYARD_METRICS_PORT: String(await freePort()),
    ...runtimeSettings(),
    ...settings,
  }
}

interface Processes {
  logs: readonly string[]
  /** Returns the last lines of an agent that exited with an unexpected error, or null if none did. */
  crash(): string | null
  start(): Promise<void>
  stop(): Promise<void>
  startAgent(): Promise<void>
  killAgent(signal?: NodeJS.Signals): Promise<void>
  startFront(): Promise<void>
  killFront(): Promise<void>
  agentPid(): number
  frontPid(): number
}

function createProcesses(
  env: NodeJS.ProcessEnv,
  { hasFront, agentScript, enter }: { hasFront: boolean; agentScript: string | undefined; enter: readonly string[] },
): Processes {
  const logs: string[] = []
  let crash: string | null = null
  let agent: LoggingChild | null = null
  let front: LoggingChild | null = null
  const launch = (command: readonly string[], settings: Record<string, string> = {}): LoggingChild =>
    startLoggingChild({
      command: [...enter, ...UNIT_UMASK, ...command],
      env: { ...settings, ...env },
      onLine: (line) => {
        logs.push(line)
        if (logs.length > KEPT_LINES) logs.shift()
      },
    })
  const startAgent = async (): Promise<void> => {
    agent = launch(agentCommand([], agentScript ?? TESTED_AGENT))
    void agent.exited.then((how) => {
      if (how === CRASHED) crash ??= logs.slice(-SHOWN_LINES).join('\n')
    })
    await agent.ready
  }
  const startFront = async (): Promise<void> => {
    front = launch(frontCommand(TESTED_FRONT), TESTED_FRONT_SETTINGS)
    await front.ready
  }
  return {
    logs,
    crash: () => crash,
    startAgent,
    startFront,
    start: async () => {
      await startAgent()
      if (hasFront) await startFront()
    },
    stop: async () => {
      if (front !== null) await stopChild(front, STOP_DEADLINE_MS)
      if (agent !== null) await stopChild(agent, STOP_DEADLINE_MS)
      front = agent = null
    },
    killAgent: async (signal = 'SIGKILL') => {
      agent?.process.kill(signal)
      await agent?.exited
    },
    killFront: async () => {
      front?.process.kill('SIGKILL')
      await front?.exited
    },
    agentPid: () => agent?.process.pid ?? 0,
    frontPid: () => front?.process.pid ?? 0,
  }
}

/** Runs a command to completion and returns its output without log lines. */
async function runToEnd(command: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const lines: string[] = []
  const child = startLoggingChild({ command, env, onLine: (line) => lines.push(line) })
  const how = await child.exited
  if (how !== 'exit code 0') throw new Error(`"${command.slice(-1).join(' ')}" ended with ${how}:\n${lines.join('\n')}`)
  return lines.filter((line) => !line.startsWith('{')).join('\n')
}

/**
 * Returns a loopback port that was free a moment ago. Neither the system nor a test cluster takes ports from its range. Never returns a
 * port twice, not even in two jest workers.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS
    const port = FIRST_PORT + WORKERS * randomInt(PORTS_EACH) + worker
    if (given.has(port)) continue
    given.add(port)
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** Returns the settings for a service that listens at `host`. */
function settingsAt(host: string): Record<string, string> {
  const names = ['HOST', 'AGENT_HOST', 'DATA_HOST', 'METRICS_HOST', 'EDGE_HOST']
  return Object.fromEntries(names.map((name) => [`BOXYARD_${name}`, host]))
}

/** Returns the settings of the tested runtime. `TEST_RUNTIME=kubernetes` uses pods, and `TEST_WARM_POOL` is the number of warm pods. */
function runtimeSettings(): Record<string, string> {
  if (runtimeOfTests() !== 'kubernetes') return {}
  const { kubeconfig, node, image } = clusterOfTests()
  const settings = { BOXYARD_KUBECONFIG: kubeconfig, BOXYARD_NODE: node, BOXYARD_POD_IMAGE: image }
  return { ...settings, BOXYARD_RUNTIME: 'kubernetes', BOXYARD_WARM_POOL: process.env['TEST_WARM_POOL'] ?? '0' }
}

const DEFAULTS = {
  BOXYARD_BASE: 'busybox',
  BOXYARD_POOL_GB: '1',
  BOXYARD_POOL_STEP_GB: '0.5',
  BOXYARD_SPARE_SLOTS: '2',
  BOXYARD_RATE_LIMIT: '100000',
  BOXYARD_RATE_BURST: '100000',
  BOXYARD_EDGE_PORT: '0',
}
// The umask of the systemd units (infra/systemd).
const UNIT_UMASK = ['/bin/sh', '-c', 'umask 077 && exec "$@"', 'sh']
const KEPT_LINES = 500
const SHOWN_LINES = 20
/** Exit code of an agent after an unexpected error (agent/modes.ts). */
const CRASHED = 'exit code 70'
const STOP_DEADLINE_MS = 45_000
/** First of 12,000–19,999. The ports of test clusters are higher, so that a cluster component that restarts finds its port free. */
const FIRST_PORT = 12_000
const WORKERS = 8
const PORTS_EACH = (FIRST_CLUSTER_PORT - FIRST_PORT) / WORKERS
const given = new Set<number>()
