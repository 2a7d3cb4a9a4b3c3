import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { AgentSettings } from '../config/agent.ts'
import { writeServiceFile } from '../config/service-file.ts'
import { copyDatabase, inspectDatabase } from '../drivers/store/inspect.ts'
import { renameToFree, syncPath } from '../lib/disk/durable-file.ts'
import { tryReadText } from '../lib/disk/file-text.ts'
import { withInterrupts } from '../lib/interrupts.ts'
import { runOk } from '../lib/run.ts'
import { ARCHIVE_ROOT, ARCHIVED_FILES, ARCHIVED_SETTINGS, type BackupArchive, sha256OfFile } from './backup-archive.ts'
import { requireDeployment } from './deployment.ts'

export interface BackupDeps {
  settings: AgentSettings
  /** Variables of Boxyard as they were given. */
  given: Readonly<Record<string, string>>
  version: string
  now(): number
  print(text: string): void
}

/**
 * `admin backup FILE|DIR`: copies database, keys and settings to one archive, also while the service runs.
 * @throws Error if there is no deployment, or the file is there already
 */
export async function runBackupCommand(deps: BackupDeps, args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h', default: false } },
  })
  if (values.help) {
    deps.print(BACKUP_HELP)
    return 0
  }
  const [given, ...rest] = positionals
  if (given === undefined || rest.length > 0) throw new Error(`Expected: admin backup FILE|DIR.\n${BACKUP_HELP}`)
  const { dataDir } = deps.settings
  requireDeployment(dataDir)
  const path = pathOf(given, deps.now())
  if (existsSync(path)) throw new Error(`${path} already exists. Choose another path, or move it away.`)
  removeAbandoned(dirname(path))
  return withInterrupts('the archive', async (signal) => {
    // Beside the target, so that it takes its name only when it is whole.
    const scratch = mkdtempSync(join(dirname(path), `${scratchPrefix()}${process.pid}-`))
    try {
      const manifest = await writeArchive(deps, { scratch, path, signal })
      deps.print(summaryOf(path, manifest, deps.settings))
      return 0
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  })
}

async function writeArchive(
  deps: BackupDeps,
  { scratch, path, signal }: { scratch: string; path: string; signal: AbortSignal },
): Promise<BackupArchive> {
  const manifest = await copyFiles(deps, join(scratch, ARCHIVE_ROOT))
  const draft = join(scratch, 'archive')
  writeFileSync(draft, '', { mode: 0o600 })
  await runOk('tar', ['-czf', draft, '-C', scratch, ARCHIVE_ROOT], { timeoutMs: TAR_MS, signal })
  syncPath(draft)
  renameToFree(draft, path)
  syncPath(dirname(path))
  return manifest
}

// Other hosts may back up to the same directory.
function scratchPrefix(): string {
  return `.boxyard-backup-${hostname()}-`
}

/**
 * Removes files that killed backups of this host left in a directory, since they hold keys. Leaves files with such names that belong to
 * other users. They could be links to another file.
 */
function removeAbandoned(directory: string): void {
  const prefix = scratchPrefix()
  for (const name of readdirSync(directory)) {
    const pid = name.startsWith(prefix) ? /^\d+/.exec(name.slice(prefix.length))?.[0] : undefined
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    const isOurs = lstatSync(join(directory, name), { throwIfNoEntry: false })?.uid === process.getuid?.()
    if (isOurs) rmSync(join(directory, name), { recursive: true, force: true })
  }
}

function pathOf(given: string, now: number): string {
  const path = resolve(given)
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  return join(path, `boxyard-backup-${hostname()}-${stamp}.tar.gz`)
}

async function copyFiles({ settings, given, version, now }: BackupDeps, root: string): Promise<BackupArchive> {
  const { dataDir } = settings
  mkdirSync(join(root, 'keys'), { recursive: true, mode: 0o700 })
  await copyDatabase(join(dataDir, 'boxyard.db'), join(root, 'boxyard.db'))
  for (const name of ARCHIVED_FILES) {
    // Each is replaced as a whole, never written to.
    if (name !== 'boxyard.db' && existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(root, name))
  }
  writeFileSync(join(root, ARCHIVED_SETTINGS), `# Settings of Boxyard on ${hostname()}\n${writeServiceFile(given)}`, {
    mode: 0o600,
  })
  const names = [...ARCHIVED_FILES, ARCHIVED_SETTINGS].filter((name) => existsSync(join(root, name)))
  const sums = await Promise.all(names.map(async (name) => [name, await sha256OfFile(join(root, name))] as const))
  const { schema, poolId } = inspectDatabase(join(root, 'boxyard.db'))
  const manifest: BackupArchive = {
    ...{ format: 1, made_at: new Date(now()).toISOString(), version, schema },
    instance: tryReadText(join(dataDir, 'instance')).trim(),
    ...{ data_dir: dataDir, pool_id: poolId, files: Object.fromEntries(sums) },
  }
  writeFileSync(join(root, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
  return manifest
}

function summaryOf(path: string, { pool_id: poolId }: BackupArchive, { dataDir, backups }: AgentSettings): string {
  const places = [...(backups.s3 === null ? [backups.directory] : []), join(dataDir, 'pool.img')]
  return `${path}
It contains the database (records of boxes, volumes, tokens, quotas, …), the keys, admin.token and the settings. Keep it as
safe as the keys, because anyone who has it can sign tokens.
It does not contain ${poolId === null ? '' : 'data of boxes, volumes, snapshots and bases, '}output of commands, logs, certificates, or
files that settings name. The data is in ${places.join(' and ')}.`
}

const TAR_MS = 3_600_000
const BACKUP_HELP = `Usage: admin backup FILE|DIR

Writes database, keys, admin.token and settings to one archive (tar.gz, mode 0600), also while the service runs. In a
directory, the archive gets a name with host and time. The archive has the state of one instant and is complete once it has
its name. It replaces no file.

The archive has no data of boxes and volumes. Copy the file pool.img while the service is down, or back up each volume
(docs/backups.md). "admin restore" restores an archive. docs/operations.md explains how to restore both.`
