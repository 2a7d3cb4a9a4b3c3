import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Logger, LogLevel } from '../../shared/log.ts'
import { FRONT_SETTINGS } from '../../shared/settings-names.ts'
import { type AgentSettings, isAgentSetting, readAgentSettings } from '../config/agent.ts'
import { inspectFrontSettings } from '../config/front.ts'
import { givenSettings } from '../config/variables.ts'
import { askControl, serveControl } from '../lib/control-socket.ts'
import type { DeploymentDeps } from './deployment.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The result of a reload, by names of settings. */
interface ReloadOutcome {
  /** In force now. */
  applied: string[]
  /** The agent, or the front, takes these at its next start. */
  agent: string[]
  front: string[]
}

export interface ReloadDeps {
  settings: AgentSettings
  logger: Logger
  setLogLevel(level: LogLevel): void
  /** Reloads the certificates of servers with TLS. @throws Error, and keeps the certificates in force, if the new ones are unsound */
  reloadTls(): void
}

/**
 * Returns a function that takes over the settings that may change in a running agent. These are log level, limits, and the certificates
 * of its addresses. It throws, and changes nothing, for an environment that a start of the agent or the front would refuse. `environment`
 * is the start's, and by default this process's.
 */
export function createReload(deps: ReloadDeps, environment?: Environment): (given: Environment) => ReloadOutcome {
  const { settings, logger, setLogLevel, reloadTls } = deps
  const started = givenSettings(environment)
  let current = started
  const apply = (environment: Environment): ReloadOutcome => {
    const given = givenSettings(environment)
    const next = readAgentSettings(given)
    const [fault] = inspectFrontSettings(given).faults
    if (fault !== undefined) throw new Error(fault)
    reloadTls()
    const changed = differing(current, given)
    const pending = differing(started, given)
    current = given
    setLogLevel(next.logLevel)
    for (const name of LIVE_LIMITS) settings.limits[name] = next.limits[name]
    return {
      applied: changed.filter((name) => LIVE.has(name)),
      agent: pending.filter((name) => isAgentSetting(name) && !LIVE.has(name)),
      front: pending.filter((name) => FRONT.has(name)),
    }
  }
  return (given) => {
    try {
      const outcome = apply(given)
      logger.info('reloaded settings', { ...outcome })
      return outcome
    } catch (error) {
      logger.warn('rejected new settings, the current ones stay in use', { error })
      throw error
    }
  }
}

/** Serves requests of root on this host to the running agent: `reload`, and `renew` for another token in `admin.token`. */
export async function openControl(
  { closers, runDir }: Pick<DeploymentDeps, 'closers'> & { runDir: string },
  requests: { reload(environment: Environment): ReloadOutcome; replaceAdminToken(revokes: boolean): Promise<number> },
): Promise<void> {
  const close = await serveControl(controlPath(runDir), async (request) => {
    const { kind, environment, revokes } = request as { kind: unknown; environment: unknown; revokes: unknown }
    if (kind === 'reload') return requests.reload(environment as Environment)
    if (kind === 'renew') return requests.replaceAdminToken(revokes === true)
    throw new Error(`There is no command "${String(kind)}" on the control socket.`)
  })
  closers.add('control socket', close)
}

/** `reload`: makes the running agent take over the settings of this process, and prints the changes. */
export async function runReloadCommand(
  { settings }: DeploymentDeps,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { help: { type: 'boolean', short: 'h', default: false } } })
  if (values.help) {
    print(RELOAD_HELP)
    return 0
  }
  const request = { kind: 'reload', environment: givenSettings() }
  const outcome = (await askRunningAgent(settings, request)) as ReloadOutcome | null
  if (outcome === null) throw new Error(`No agent runs on ${settings.dataDir}. It reads its settings when it starts.`)
  const { applied, agent, front } = outcome
  print(applied.length === 0 ? 'Reloaded certificates.' : `Applied: ${applied.join(', ')}.`)
  if (agent.length > 0) print(`Applied when you restart the agent (boxes keep running): ${agent.join(', ')}.`)
  if (front.length > 0) print(`Applied when you restart the front: ${front.join(', ')}.`)
  return 0
}

/** Sends a request to the agent that runs with these settings. Null if none does. */
export function askRunningAgent(settings: AgentSettings, request: object): Promise<unknown> {
  let instanceId = ''
  try {
    instanceId = readFileSync(join(settings.dataDir, 'instance'), 'utf8').trim()
  } catch {
    return Promise.resolve(null)
  }
  return askControl(controlPath(join(settings.runRoot, instanceId)), request)
}

function controlPath(runDir: string): string {
  return `${runDir}/control.sock`
}

function differing(one: Environment, other: Environment): string[] {
  return Object.keys({ ...one, ...other })
    .filter((name) => one[name] !== other[name])
    .sort()
}

const RELOAD_HELP = `Usage: reload

Reloads the settings that can change while the agent runs: log level, limits of requests, boxes, volumes and memory, and the
certificates of the agent's addresses. Lists the settings that wait for a restart. Rejects invalid settings and keeps the
current ones.`
const LIVE_LIMITS = [
  'rateLimitPerSecond',
  'rateLimitBurst',
  'boxesMax',
  'volumesMax',
  'memoryOvercommit',
  'memoryReserveBytes',
] as const
const LIVE: ReadonlySet<string> = new Set([
  'BOXYARD_LOG_LEVEL',
  'BOXYARD_RATE_LIMIT',
  'BOXYARD_RATE_BURST',
  'BOXYARD_BOXES_MAX',
  'BOXYARD_VOLUMES_MAX',
  'BOXYARD_MEMORY_OVERCOMMIT',
  'BOXYARD_MEMORY_RESERVE_MB',
])
const FRONT: ReadonlySet<string> = new Set(FRONT_SETTINGS)
