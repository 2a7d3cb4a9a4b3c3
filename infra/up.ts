import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { agentCommand, frontCommand } from './commands.ts'
import { type InstanceLock, lockInstance } from './instance-lock.ts'
import { openLogFile } from './log-file.ts'
import { assertPortsFree } from './ports.ts'
import { createServiceProcess, endOnSignal } from './service-process.ts'
import { readUpSettings, type UpSettings } from './up-settings.ts'
import { ensureConsole } from './web/build.ts'
import { signInLink } from './web/sign-in-link.ts'

/** `npm run up` runs the agent and the standalone front in the foreground until a signal. Boxes keep running. */
async function main(): Promise<void> {
  if (process.argv.length > 2) {
    say(UP_HELP)
    return
  }
  const settings = readUpSettings(process.env)
  const lock = await lockDataDir(settings)
  await assertPortsFree(settings)
  ensureConsole()
  const agent = createServiceProcess({
    name: 'agent',
    command: agentCommand(),
    lossNote: 'Boxes keep running.',
    stopDeadlineMs: 45_000,
    say,
    log: openLog(settings, 'agent'),
  })
  const front = createServiceProcess({
    name: 'front',
    command: frontCommand(),
    lossNote: 'Boxes keep running.',
    stopDeadlineMs: 45_000,
    say,
    log: openLog(settings, 'front'),
  })
  const stop = async (): Promise<void> => {
    await front.stop()
    await agent.stop()
  }
  const kill = (): void => {
    for (const service of [front, agent]) service.kill()
  }
  const ending = endOnSignal({ stop, kill, say }, () => lock.release())
  try {
    await agent.start()
    const url = (await front.start()).url ?? `http://${settings.host}:${settings.port}`
    if (ending.hasBegun()) return
    say(`Boxyard is ready at ${url} (admin token in ${join(settings.dataDir, 'admin.token')})`)
    // A failed sign-in to the console is no reason to stop the running services.
    const link = await signInLink(url, settings).catch((error: unknown) => `${url} (${messageOf(error)})`)
    if (link !== null && !ending.hasBegun()) say(`Console: ${link}`)
    say('In another terminal: npm run --silent cli -- --help')
  } catch (error) {
    if (ending.hasBegun()) return
    fail(error)
    await ending.begin()
  }
}

async function lockDataDir(settings: UpSettings): Promise<InstanceLock> {
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  const lock = await lockInstance(realpathSync(settings.dataDir))
  if ('release' in lock) return lock
  throw new Error(
    `Boxyard already runs on ${settings.dataDir} (process ${lock.heldBy}). Stop it, or set BOXYARD_DATA_DIR and the ports to run a second one.`,
  )
}

function openLog(settings: UpSettings, name: string): (line: string) => void {
  if (settings.logsToStderr) return (line) => process.stderr.write(`${line}\n`)
  const file = openLogFile(join(settings.dataDir, 'log', `${name}.log`))
  return (line) => file.write(line)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function fail(error: unknown): void {
  process.stderr.write(`Boxyard did not start: ${messageOf(error)}\n`)
  process.exitCode = 1
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const UP_HELP = `Usage: npm run up

Runs the service in the foreground: agent, front and edge. Ctrl-C stops the service, and boxes keep running. Set options as
environment variables (docs/settings.md). To check this host: npm run doctor`

await main().catch(fail)
