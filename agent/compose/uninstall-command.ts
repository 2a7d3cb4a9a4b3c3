import { existsSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { packagedDataDir } from '../config/given.ts'
import { parseMountInfo } from '../drivers/host/mount-info.ts'
import { tryReadText } from '../lib/disk/file-text.ts'
import { run } from '../lib/run.ts'
import { RESTORE_MARK } from './backup-archive.ts'
import { type DeploymentDeps, hasDeployment } from './deployment.ts'
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
    print('Canceled. Nothing changed.')
    return 1
  }
  await stopUnits(dataDir, print)
  if (hasDeployment(dataDir)) await takeDown(deps, print, { isKept: !isPurge })
  else await deps.closers.run(CLOSE_MS)
  if (isPurge) purge(dataDir, print)
  // Other deployments of the host use it as well.
  removeIfEmpty(runRoot)
  print(PROGRAM_NOTE)
  return 0
}

function assertNoMounts(dataDir: string): void {
  if (!existsSync(dataDir)) return
  const place = realpathSync(dataDir)
  const tables = ['/proc/1/mountinfo', '/proc/self/mountinfo'].flatMap((table) => parseMountInfo(readFileSync(table)))
  const targets = new Set(tables.map(({ path }) => path))
  const below = [...targets].filter((target) => target.startsWith(`${place}/`))
  if (below.length === 0) return
  throw new Error(`${dataDir} has mounts (${below.join(', ')}). Unmount them first, so that their files stay.`)
}

async function confirm(dataDir: string, isPurge: boolean, print: (text: string) => void): Promise<boolean> {
  const what = isPurge
    ? `This stops every box and removes all data in ${dataDir}: boxes, volumes, snapshots, keys, tokens,\nand backups that are there. You cannot undo this.`
    : `This stops every box and keeps the data in ${dataDir}.`
  print(`${what}\nType the path of the data directory to continue (without a terminal, use --yes):`)
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) return line.trim() === dataDir
    return false
  } finally {
    lines.close()
  }
}

async function stopUnits(dataDir: string, print: (text: string) => void): Promise<void> {
  if (!existsSync('/run/systemd/system')) return
  const served = packagedDataDir()
  if (served !== dataDir) {
    print(`The systemd services stay, because they serve ${served}.`)
    return
  }
  for (const unit of UNITS) {
    const { stdout } = await run('systemctl', ['show', '-p', 'LoadState', '--value', unit], { timeoutMs: STOP_MS })
    if (stdout.trim() !== 'loaded') continue
    const { exitCode, stderr } = await run('systemctl', ['disable', '--now', unit], { timeoutMs: STOP_MS })
    if (exitCode !== 0) throw new Error(`systemctl disable --now ${unit} failed: ${stderr.trim()}`)
    print(`Stopped and disabled ${unit}.`)
  }
  // Any processes left in it end with the boxes.
  await run('systemctl', ['stop', BOXES_UNIT], { timeoutMs: STOP_MS })
}

/** Removes Boxyard's files from a data directory, and the directory if it is then empty. */
function purge(dataDir: string, print: (text: string) => void): void {
  // Names such as `backups` may belong to any program.
  const isOurs =
    hasDeployment(dataDir) ||
    INSTANCE.test(tryReadText(join(dataDir, 'instance'))) ||
    existsSync(join(dataDir, RESTORE_MARK))
  if (!isOurs) {
    print(`${dataDir} has no deployment. Nothing in it was removed.`)
    return
  }
  const image = join(dataDir, 'pool.img')
  // It may be a link to another disk.
  if (existsSync(image)) rmSync(realpathSync(image), { force: true })
  // Removes the database first. Without it there is no deployment. The file that identifies the directory's owner goes last.
  for (const name of OWN_NAMES) rmSync(join(dataDir, name), { recursive: true, force: true })
  const left = readdirSync(dataDir)
  if (left.length > 0) print(`Kept files in ${dataDir} that do not belong to Boxyard.`)
  // A mount point or a link stays.
  else if (removeIfEmpty(dataDir)) print(`Removed ${dataDir}.`)
  else print(`Removed everything in ${dataDir}.`)
}

function removeIfEmpty(directory: string): boolean {
  try {
    rmdirSync(directory)
    return true
  } catch {
    // It is missing, is a mount point, or is not empty.
    return false
  }
}

const INSTANCE = /^[a-z0-9]{8}\n$/
const DATABASE = ['boxyard.db', 'boxyard.db-wal', 'boxyard.db-shm', 'boxyard.db-journal', 'ballast']
/** Everything that the service creates in its data directory. */
const OWN_NAMES = [
  ...DATABASE,
  ...['metrics.db', 'metrics.db-wal', 'metrics.db-shm'],
  ...Array.from({ length: 100 }, (_, version) => `boxyard.db.v${version}`),
  ...['pool.img', 'pool.img.new', 'keys', 'admin.token', 'execs', 'backups', 'acme', 'log', 'lock'],
  ...['restored-settings.conf', RESTORE_MARK, 'instance'],
]
const UNITS = ['boxyard-front.service', 'boxyard-agent.service']
const BOXES_UNIT = 'boxyard-boxes.service'
const STOP_MS = 400_000
const CLOSE_MS = 5_000
const PROGRAM_NOTE = `To remove the program: "apt-get purge boxyard" (package), "install.sh --remove" (archive), or delete the checkout.`
const UNINSTALL_HELP = `Usage: admin uninstall --keep-data|--purge-data [--yes]

Stops the services and every box, and removes the changes of the deployment on the host: mounts, interfaces, firewall rules,
the edge, and files in /run. Asks for confirmation first.

  --keep-data    keep the data directory, so that a service can run its boxes later
  --purge-data   remove the data directory with boxes, volumes, snapshots, keys, tokens, and backups in it
  --yes          do not ask

Systemd services that serve another data directory stay. --purge-data fails if the data directory has mounts.`
