import { readFileSync } from 'node:fs'
import { createJsonLogger, type Logger } from '../shared/log.ts'
import { createStderrWriter } from '../shared/stderr-log.ts'
import { runKeysCommand, runTokenCommand } from './compose/access-commands.ts'
import { startAgent, systemClock } from './compose/agent.ts'
import type { DeploymentDeps } from './compose/deployment.ts'
import { createClosers } from './compose/shutdown.ts'
import { takeDown } from './compose/take-down.ts'
import { readAgentSettings } from './config/agent.ts'
import { connectServiceManager, type ServiceManager } from './lib/systemd/notify.ts'

/**
 * Runs the agent in the mode that `args` name (`serve | down | token … | keys …`) and returns its exit code. Logs go to stderr as
 * JSON lines, results to stdout. `decorate` is for tests, which inject faults between the core and its ports.
 */
export async function runAgent(
  args: readonly string[],
  decorate: DeploymentDeps['decorate'] = (_port, driver) => driver,
): Promise<number> {
  // Gives files and directories the modes that the code says, also under the umask of a unit: users of boxes pass through some.
  process.umask(0o022)
  // The reader of the log may exit first; EPIPE must not end the agent.
  process.stderr.on('error', () => undefined)
  const write = createStderrWriter(process.env)
  const now = (): number => systemClock.now()
  const notices = createJsonLogger({ level: 'info', write, now })
  const closers = createClosers(notices)
  try {
    const settings = readAgentSettings()
    const logger = createJsonLogger({ level: settings.logLevel, write, now })
    return await runMode(args, { settings, logger, notices, closers, clock: systemClock, decorate })
  } catch (error) {
    notices.error(error instanceof Error ? error.message : String(error), { error, fatal: true })
    await closers.run(CLOSE_MS)
    return 1
  }
}

async function runMode(args: readonly string[], deps: DeploymentDeps): Promise<number> {
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const [mode = 'serve', ...rest] = args
  switch (mode) {
    case 'serve':
      return serveUntilSignal(deps)
    case 'down':
      return takeDown(deps, print)
    case 'token':
      return runTokenCommand(deps, rest, print)
    case 'keys':
      return runKeysCommand(deps, rest, print)
    default:
      throw new Error(`There is no mode "${mode}": serve, down, token or keys.`)
  }
}

async function serveUntilSignal(given: DeploymentDeps): Promise<number> {
  const manager = connectServiceManager(process.env)
  const deps = { ...given, notices: tellingProgress(given.notices, manager) }
  const { logger } = deps
  const ending = new AbortController()
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (ending.signal.aborted) process.exit(1)
        ending.abort(new Error(`${name} came while the agent was starting.`))
        resolve(name)
      })
    }
  })
  watchForCrashes(logger)
  const agent = await startAgent({ ...deps, version: readVersion() }, ending.signal)
  const { address, port } = agent.address
  deps.notices.info('agent ready', { ready: true, address, port })
  manager.ready(`Serves the functions at ${address}:${port}`)
  logger.info('stopping', { signal: await signalled })
  manager.stopping()
  await agent.stop()
  logger.info('stopped: boxes go on running')
  return 0
}

/** Returns a logger that also tells the service manager of progress, as of a base that is built. */
function tellingProgress(notices: Logger, manager: ServiceManager): Logger {
  const info: Logger['info'] = (message, fields) => {
    notices.info(message, fields)
    if (fields?.['progress'] === true) manager.status(message)
  }
  return { ...notices, info }
}

// State on disk is consistent at any time, so after an unexpected error a restart is safest.
function watchForCrashes(logger: Logger): void {
  const crash = (error: unknown): void => {
    logger.error('the agent ends for a reason it did not foresee', { error, fatal: true })
    process.exit(70)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}

function readVersion(): { version: string; commit: string | null } {
  const file = new URL('../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  return { version, commit: readCommit() }
}

function readCommit(): string | null {
  const git = (path: string): string => readFileSync(new URL(`../.git/${path}`, import.meta.url), 'utf8').trim()
  try {
    const head = git('HEAD')
    return head.startsWith('ref: ') ? git(head.slice(5)) : head
  } catch {
    return null
  }
}

const CLOSE_MS = 15_000
