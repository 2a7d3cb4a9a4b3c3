import { existsSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { run } from '../lib/run.ts'
import type { DeploymentDeps } from './deployment.ts'
import { takeDown } from './take-down.ts'

/**
 * `admin uninstall --keep-data|--purge-data [--yes]`: stops services and boxes, removes what the deployment made on the host and,
 * if asked, its data. Returns 1 if the operator does not confirm.
 * @throws Error while an agent that systemd does not run serves, or something is mounted in the data directory
 */
export async function runUninstallCommand(
  deps: DeploymentDeps,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'keep-data': { type: 'boolean', default: false },
      'purge-data': { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    print(UNINSTALL_HELP)
    return 0
  }
  const isPurge = values['purge-data']
  if (isPurge === values['keep-data']) throw new Error(`Give either --keep-data or --purge-data.\n${UNINSTALL_HELP}`)
  const { dataDir, runRoot } = deps.settings
  if (isPurge) assertNoMounts(dataDir)
  if (!values.yes && !(await confirm(dataDir, isPurge, print))) {
    print('Nothing was changed.')
    return 1
  }
  await stopUnits(print)
  if (existsSync(join(dataDir, 'boxyard.db'))) await takeDown(deps, print)
  else await deps.closers.run(CLOSE_MS)
  if (isPurge) purge(dataDir, print)
  // Other deployments of the host have theirs in it.
  removeIfEmpty(runRoot)
  print(PROGRAM_NOTE)
  return 0
}

function assertNoMounts(dataDir: string): void {
  const targets = readFileSync('/proc/1/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
  const below = targets.filter((target) => target.startsWith(`${dataDir}/`))
  if (below.length === 0) return
  throw new Error(
    `Something is mounted in ${dataDir} (${below.join(', ')}): unmount it first, so that nothing of it is removed.`,
  )
}

async function confirm(dataDir: string, isPurge: boolean, print: (text: string) => void): Promise<boolean> {
  const what = isPurge
    ? `This stops every box and removes all data in ${dataDir}: boxes, volumes, snapshots, keys, tokens,\nand backups if they are kept there. It cannot be undone.`
    : `This stops every box, and leaves the data in ${dataDir}.`
  print(`${what}\nType the path of the data directory to go on (without a terminal: --yes):`)
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) return line.trim() === dataDir
    return false
  } finally {
    lines.close()
  }
}

async function stopUnits(print: (text: string) => void): Promise<void> {
  if (!existsSync('/run/systemd/system')) return
  for (const unit of UNITS) {
    const { stdout } = await run('systemctl', ['show', '-p', 'LoadState', '--value', unit], { timeoutMs: STOP_MS })
    if (stdout.trim() !== 'loaded') continue
    const { exitCode, stderr } = await run('systemctl', ['disable', '--now', unit], { timeoutMs: STOP_MS })
    if (exitCode !== 0) throw new Error(`systemctl disable --now ${unit} failed: ${stderr.trim()}`)
    print(`Stopped and disabled ${unit}.`)
  }
  // What is left in it ends with the boxes.
  await run('systemctl', ['stop', BOXES_UNIT], { timeoutMs: STOP_MS })
}

/** Removes what is Boxyard's in a data directory, and the directory if nothing else is in it. */
function purge(dataDir: string, print: (text: string) => void): void {
  // The database first: without it there is no deployment.
  for (const name of OWN_NAMES) rmSync(join(dataDir, name), { recursive: true, force: true })
  if (existsSync(dataDir) && !removeIfEmpty(dataDir)) print(`${dataDir} holds files that are not Boxyard's; they stay.`)
  else print(`Removed ${dataDir}.`)
}

function removeIfEmpty(directory: string): boolean {
  try {
    rmdirSync(directory)
    return true
  } catch {
    // It is not there, is a mount point, or holds something.
    return false
  }
}

const DATABASE = ['boxyard.db', 'boxyard.db-wal', 'boxyard.db-shm', 'boxyard.db-journal', 'ballast']
/** Everything that the service makes in its data directory. */
const OWN_NAMES = [
  ...DATABASE,
  ...Array.from({ length: 100 }, (_, version) => `boxyard.db.v${version}`),
  ...['pool.img', 'pool.img.new', 'keys', 'admin.token', 'instance', 'execs', 'backups', 'acme', 'log', 'lock'],
  ...['restored-settings.conf', '.restoring'],
]
const UNITS = ['boxyard-front.service', 'boxyard-agent.service']
const BOXES_UNIT = 'boxyard-boxes.service'
const STOP_MS = 400_000
const CLOSE_MS = 5_000
const PROGRAM_NOTE = `The program goes with "apt-get purge boxyard" (a package), "install.sh --remove" (an archive), or its checkout.`
const UNINSTALL_HELP = `Usage: admin uninstall --keep-data|--purge-data [--yes]

Stops the services and every box, and removes what the deployment made on the host: mounts, interfaces, firewall rules, the
edge, files in /run. Asks before it begins.

  --keep-data    the data directory stays as it is; a service that is started on it runs the boxes again
  --purge-data   removes the data directory: boxes, volumes, snapshots, keys, tokens, and backups that are kept in it
  --yes          does not ask`
