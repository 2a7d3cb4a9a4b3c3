import { flushCompileCache } from 'node:module'
import { createJsonLogger, type JsonLoggerOptions, type Logger, type LogLevel } from '../shared/log.ts'
import { createPlainLogger, createStderrWriter } from '../shared/stderr-log.ts'
import { runKeysCommand, runRenewCommand, runTokenCommand } from './compose/access-commands.ts'
import { startAgent, systemClock } from './compose/agent.ts'
import { type BackupDeps, runBackupCommand } from './compose/backup-command.ts'
import type { DeploymentDeps } from './compose/deployment.ts'
import { runReloadCommand } from './compose/reload.ts'
import { runRestoreCommand } from './compose/restore-command.ts'
import { createClosers } from './compose/shutdown.ts'
import { runDownCommand } from './compose/take-down.ts'
import { runUninstallCommand } from './compose/uninstall-command.ts'
import { readAgentSettings } from './config/agent.ts'
import { programPath, readGivenSettings, readTakeDownSettings } from './config/given.ts'
import { takeServiceVariables } from './config/systemd.ts'
import { readVersion } from './config/version.ts'
import { runDoctorCommand } from './doctor/doctor.ts'
import { runSupportCommand } from './doctor/support/support.ts'
import { connectServiceManager, type ServiceManager } from './lib/systemd/notify.ts'

/**
 * Runs the agent in the mode that `args` name (`HELP`) and returns its exit code. Results go to stdout, the log to stderr: of a
 * service as JSON lines, of other modes as text. `decorate` is for tests, which inject faults between the core and its ports.
 */
export async function runAgent(
  args: readonly string[],
  decorate: DeploymentDeps['decorate'] = (_port, driver) => driver,
): Promise<number> {
  // Gives files and directories the modes that the code sets, also under the umask of a unit. Users of boxes pass through some of them.
  process.umask(0o022)
  // The reader of the log may exit first. EPIPE must not end the agent.
  process.stderr.on('error', () => undefined)
  const write = createStderrWriter()
  const now = (): number => systemClock.now()
  const [mode, ...rest] = args[0] === 'admin' ? [args[1] ?? 'help', ...args.slice(2)] : args
  const isService = mode === undefined || mode === 'serve'
  const notices = isService ? createJsonLogger({ level: 'info', write, now }) : createPlainLogger(write, now)
  const closers = createClosers(notices)
  try {
    const told = tell(mode)
    if (told !== null) return say(told)
    if (mode === 'doctor' || mode === 'support') return await runDoctor([mode, ...rest], now)
    const settings = mode === 'down' ? readTakeDownSettings((fault) => notices.warn(fault)) : readAgentSettings()
    const logging: JsonLoggerOptions = { level: settings.logLevel, write, now }
    const logger = isService ? createJsonLogger(logging) : notices
    return await runMode([mode ?? 'serve', ...rest], {
      setLogLevel: (level) => {
        logging.level = level
      },
      settings,
      logger,
      notices,
      closers,
      clock: systemClock,
      decorate,
    })
  } catch (error) {
    notices.error(error instanceof Error ? error.message : String(error), { error, fatal: true })
    await closers.run(CLOSE_MS)
    return 1
  }
}

/** Returns the output of a mode that needs no settings. Null for another mode. */
function tell(mode: string | undefined): string | null {
  if (mode === 'help' || mode === '--help' || mode === '-h') return HELP
  const { version, commit } = readVersion()
  if (mode === 'version' || mode === '--version') return `boxyard ${version}${commit === null ? '' : ` (${commit})`}`
  return null
}

// Works with wrong settings, too.
function runDoctor([mode, ...args]: readonly string[], now: () => number): Promise<number> {
  const deps = { settings: readGivenSettings(), version: readVersion(), path: programPath(), now }
  const runCommand = mode === 'support' ? runSupportCommand : runDoctorCommand
  return runCommand(deps, args, (text) => void say(text))
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

async function runMode([mode = '', ...rest]: readonly string[], deps: ServeDeps): Promise<number> {
  const print = (text: string): void => void say(text)
  switch (mode) {
    case 'serve':
      if (rest.length > 0) return say(HELP)
      return serveUntilSignal(deps)
    case 'down':
      return runDownCommand(deps, rest, print)
    case 'reload':
      return runReloadCommand(deps, rest, print)
    case 'renew':
      return runRenewCommand(deps, rest, print)
    case 'token':
      return runTokenCommand(deps, rest, print)
    case 'keys':
      return runKeysCommand(deps, rest, print)
    case 'backup':
      return runBackupCommand(backupDeps(deps, print), rest)
    case 'restore':
      return runRestoreCommand(backupDeps(deps, print), rest)
    case 'uninstall':
      return runUninstallCommand(deps, rest, print)
    default:
      throw new Error(`There is no mode "${mode}".\n${HELP}`)
  }
}

function backupDeps({ settings, clock }: DeploymentDeps, print: (text: string) => void): BackupDeps {
  return { settings, given: readGivenSettings().given, version: readVersion().version, now: () => clock.now(), print }
}

/** The dependencies of `serve` besides a deployment. */
interface ServeDeps extends DeploymentDeps {
  setLogLevel(level: LogLevel): void
}

async function serveUntilSignal(given: ServeDeps): Promise<number> {
  const manager = connectServiceManager(takeServiceVariables())
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
  // Otherwise Node.js keeps compiled code only as it exits. A kill of the agent, or a power cut, would then leave none.
  flushCompileCache()
  deps.notices.info('agent ready', { ready: true, address, port })
  manager.ready(`Serving functions at ${address}:${port}`)
  logger.info('stopping', { signal: await signalled })
  manager.stopping()
  await agent.stop()
  logger.info('stopped, boxes keep running')
  return 0
}

/** Returns a logger that also reports progress to the service manager, such as of a base build. */
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
    logger.error('the agent exits because of an unexpected error', { error, fatal: true })
    process.exit(70)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}

const CLOSE_MS = 15_000
const HELP = `Usage: boxyard MODE

  serve                            run the agent (with systemd: boxyard-agent.service)
  doctor [--fix] [--json]          check the host and the service, and print each problem with its remedy
  support [FILE]                   write an archive without secrets for the person who helps you
  admin token [options]            create an access token
  admin keys rotate|drop-old KIND  change the keys that sign tokens, or requests of the functions
  admin renew [--revoke]           write a new administrator's token to admin.token
  admin reload                     reload the settings of the running agent (with systemd: systemctl reload)
  admin down                       stop every box of a stopped agent, and remove its changes on the host
  admin backup FILE|DIR            copy database, keys and settings to an archive
  admin restore FILE               restore an archive to an empty data directory
  admin uninstall --keep-data|--purge-data   remove the deployment from this host
  --version                        print version and commit

Each mode has --help. Settings are environment variables. The package keeps them in /etc/boxyard/boxyard.conf.`
