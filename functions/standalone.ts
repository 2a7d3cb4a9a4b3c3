import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { hostAuthority } from '../shared/auth/host-authority.ts'
import { createBodyBudget } from '../shared/http/body-budget.ts'
import { FRONT_BOUNDS } from '../shared/http/bounds.ts'
import { connectionsWithin } from '../shared/http/connection-limit.ts'
import { boundConnections } from '../shared/http/connections.ts'
import { createKnownHosts, machineNames, refuseUnknownHosts } from '../shared/http/known-hosts.ts'
import { listenAt } from '../shared/http/listen.ts'
import type { HttpRequest } from '../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../shared/http/serve.ts'
import { createSourceAddresses } from '../shared/http/source-address.ts'
import { newId } from '../shared/ids.ts'
import { createJsonLogger, type Logger, type LogLevel } from '../shared/log.ts'
import { createLineBudget } from '../shared/log-budget.ts'
import { matchOperation } from '../shared/match.ts'
import { AGENT_SETTINGS } from '../shared/settings-names.ts'
import { createStderrWriter } from '../shared/stderr-log.ts'
import { createDial } from './agent-dial.ts'
import { createApp } from './app.ts'
import { createAuthenticator } from './auth.ts'
import { createBodyTurns } from './body-turns.ts'
import { type FrontSettings, isNotifyService, readFrontSettings } from './config.ts'
import { readConsoleFiles, serveConsole } from './console-files.ts'
import { allowOrigins } from './cors.ts'
import { createForward, type Forward } from './forward.ts'
import { createForwardBytes } from './forward-bytes.ts'
import { createKeyring } from './keyring.ts'
import { notifyReady } from './notify-ready.ts'
import { createPoolTransport } from './pool-transport.ts'
import { createSigning } from './signing.ts'
import { createStrangerTurns } from './stranger-turns.ts'
import { createUpgrades } from './upgrade.ts'

/** A listening front. */
export interface StandaloneFront {
  /** The actual port, also if the settings say 0. */
  port: number
  /** Resolves with true once the agent answers requests of this front, or with false when `late` aborts. */
  untilAgentAnswers(late: AbortSignal): Promise<boolean>
  /** Accepts no more connections, waits for requests in flight for at most the drain time, then closes. */
  close(): Promise<void>
}

/** The loggers of a front: `audit` writes the audit lines, at any level of `logger`. */
export interface FrontLoggers {
  logger: Logger
  audit: Logger
}

/**
 * Starts the front on its own address, and resolves once it listens.
 * @throws Error if its keys are unreadable or its port is taken. Also if a trusted proxy is not an address or network, an allowed origin is
 * invalid, or the console is not built at the configured place
 */
export async function startStandalone(settings: FrontSettings, given: FrontLoggers): Promise<StandaloneFront> {
  const { logger } = given
  const now = Date.now
  const loggers = { ...given, lines: createLineBudget({ now }) }
  const sources = createSourceAddresses(settings.trustedProxies)
  const files = readConsoleFiles(settings.consoleDir)
  const keyring = createKeyring({ ...settings, logger, now })
  const transport = createPoolTransport({ agentUrl: settings.agentUrl, tls: settings.channelTls })
  const signing = createSigning({ keyring, logger, now })
  const carrying = { transport, signing, timeoutMs: settings.agentTimeoutMs }
  const forward = createForward({ ...carrying, answerBytesMax: null })
  const forwardBytes = createForwardBytes({ ...carrying, forward })
  const authenticate = createAuthenticator({ keyring, now })
  const bodies = createBodyBudget(FRONT_BOUNDS.bodyBytes, FRONT_BOUNDS.smallBodyBytes)
  const turns = createBodyTurns()
  const strangers = createStrangerTurns({ now })
  const app = createApp({ authenticate, forward, forwardBytes, bodies, turns, strangers, ...loggers, now })
  const isKnown = createKnownHosts([settings.host, ...settings.hosts, ...ownNames()])
  const hosts = { isKnown, isAuthorized: hostAuthority({ verify: authenticate, match: matchOperation }), now }
  const dial = createDial({ agentUrl: settings.agentUrl, tls: settings.channelTls, timeoutMs: settings.agentTimeoutMs })
  const upgrades = createUpgrades({ authenticate, signing, dial, turns, strangers, sources, hosts, ...loggers, now })
  const server = createServer(SERVER_OPTIONS)
  const max = connectionsWithin(settings.connectionsMax, readFileSync('/proc/self/limits', 'utf8'))
  boundConnections(server, { listener: 'front', max, sources, logger })
  const api = allowOrigins(settings.corsOrigins, refuseUnknownHosts(hosts, app))
  const handler = serveConsole(files, { isKnown, handler: api })
  const serving = serve(server, { handler, logger, now, sources })
  upgrades.serve(server)
  await listenAt(server, { host: settings.host, port: settings.port })
  const { port } = server.address() as AddressInfo
  return {
    port,
    untilAgentAnswers: (late) => untilAgentAnswers(forward, late),
    close: async () => {
      const late = AbortSignal.timeout(settings.drainMs)
      strangers.close()
      await Promise.all([serving.drain(late), upgrades.drain(late)])
      await transport.close()
      logger.info('The front has stopped', { cut_off: serving.inFlight() })
    },
  }
}

/** Reads the names of this machine. Returns fewer without the files. */
function ownNames(): string[] {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return ''
    }
  }
  return machineNames({ hostname: hostname(), hosts: read('/etc/hosts'), resolver: read('/etc/resolv.conf') })
}

async function untilAgentAnswers(forward: Forward, late: AbortSignal): Promise<boolean> {
  const { operation } = matchOperation('GET', '/healthz')
  const request: HttpRequest = {
    ...{ method: 'GET', target: '/healthz', headers: {}, clientAddress: '', signal: late },
    readBody: async () => NOTHING,
    openBody: async function* () {},
  }
  while (!late.aborted) {
    const requestId = newId('req', Date.now())
    const isAnswered = await forward({ request, operation, requestId, owner: OWNER, body: NOTHING }).then(
      () => true,
      () => false,
    )
    if (isAnswered) return true
    await pause(POLL_MS, undefined, { signal: late }).catch(() => undefined)
  }
  return false
}

async function main(): Promise<void> {
  const settings = readFrontSettings(undefined, AGENT_SETTINGS)
  const logger = stderrLogger(settings.logLevel)
  const front = await startStandalone(settings, { logger, audit: stderrLogger('info') })
  let isStopping = false
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    logger.info('The front is stopping', { signal })
    front.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error('The front failed to stop cleanly', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // Otherwise Node.js stores compiled code only at its exit, which a power cut prevents.
  flushCompileCache()
  const url = urlOf(settings.host, front.port)
  // The process that started the front waits for this line, at any log level.
  stderrLogger('info').info('The front is ready', { ready: true, url })
  if (isNotifyService()) await reportReadiness(front, url, settings.agentUrl)
}

/**
 * Reports to systemd that the front serves once the agent answers. After a while without an answer, reports that only the front listens.
 */
async function reportReadiness(front: StandaloneFront, url: string, agentUrl: string): Promise<void> {
  if (!(await front.untilAgentAnswers(AbortSignal.timeout(AGENT_WAIT_MS)))) {
    await notifyReady(`Listening at ${url}, but the agent does not answer at ${agentUrl}`)
    await front.untilAgentAnswers(new AbortController().signal)
  }
  await notifyReady(`Serving the API at ${url}`)
}

function stderrLogger(level: LogLevel): Logger {
  return createJsonLogger({ level, now: Date.now, write: createStderrWriter() })
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

const NOTHING = new Uint8Array()
/** Not the owner of any client, because `ownerOf` gives each client another. */
const OWNER = 'front'
const POLL_MS = 500
const AGENT_WAIT_MS = 60_000

if (import.meta.main) {
  main().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    stderrLogger('error').error(`The front cannot start: ${reason}`, { error })
    process.exitCode = 1
  })
}
