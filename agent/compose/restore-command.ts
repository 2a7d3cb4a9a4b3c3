import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { forgetPool } from '../drivers/store/inspect.ts'
import { MIGRATIONS } from '../drivers/store/schema.ts'
import { lockDataDirectory } from '../lib/disk/data-lock.ts'
import { moveDurably, syncPath } from '../lib/disk/durable-file.ts'
import { run } from '../lib/run.ts'
import {
  ARCHIVE_ROOT,
  ARCHIVED_FILES,
  ARCHIVED_SETTINGS,
  type BackupArchive,
  backupArchiveSchema,
  RESTORE_MARK,
  sha256OfFile,
} from './backup-archive.ts'
import type { BackupDeps } from './backup-command.ts'

/**
 * `admin restore FILE [--without-pool]`: makes the deployment of an archive in a data directory that has none. Repeat the command to
 * finish an interrupted restore.
 * @throws Error if a deployment is there, its own still runs on this host, or the archive is damaged or newer
 */
export async function runRestoreCommand(deps: BackupDeps, args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'without-pool': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    deps.print(RESTORE_HELP)
    return 0
  }
  const [given, ...rest] = positionals
  if (given === undefined || rest.length > 0)
    throw new Error(`Expected: admin restore FILE [--without-pool].\n${RESTORE_HELP}`)
  const { dataDir } = deps.settings
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  assertEmpty(dataDir)
  const image = join(dataDir, 'pool.img')
  // The next start would take it for the new pool.
  if (values['without-pool'] && lstatSync(image, { throwIfNoEntry: false }) !== undefined)
    throw new Error(`${image} exists. Restore with it, or move it away before you use --without-pool.`)
  const isLockNew = !existsSync(join(dataDir, 'lock'))
  const unlock = lockDataDirectory(dataDir)
  try {
    // Another restore may have ended in the meantime.
    assertEmpty(dataDir)
    await restore(deps, resolve(given), values['without-pool'])
    return 0
  } catch (error) {
    if (isLockNew && !isBegun(dataDir)) removeTraces(dataDir, made)
    throw error
  } finally {
    unlock()
  }
}

/** Returns whether a restore has moved files to their places. */
function isBegun(dataDir: string): boolean {
  return ARCHIVED_FILES.some((name) => existsSync(join(dataDir, name)))
}

/** Removes the lock of a refused restore, and the directories that it made, up to `made`. Files of others stay. */
function removeTraces(dataDir: string, made: string | undefined): void {
  rmSync(join(dataDir, 'lock'), { force: true })
  if (made === undefined) return
  try {
    for (let path = resolve(dataDir); path.length >= made.length; path = dirname(path)) rmdirSync(path)
  } catch {
    // It is not empty.
  }
}

function assertEmpty(dataDir: string): void {
  const isCutOff = existsSync(join(dataDir, RESTORE_MARK)) && !existsSync(join(dataDir, 'boxyard.db'))
  const names = isCutOff ? BESIDE_DATABASE : [...ARCHIVED_FILES, ...BESIDE_DATABASE]
  const there = names.filter((name) => existsSync(join(dataDir, name)))
  if (there.length === 0) return
  throw new Error(
    `${dataDir} already has a deployment (${there.join(', ')}). Set BOXYARD_DATA_DIR to an empty directory, or move these files away.`,
  )
}

async function restore(deps: BackupDeps, archive: string, isWithoutPool: boolean): Promise<void> {
  const { dataDir, runRoot } = deps.settings
  const staging = join(dataDir, RESTORE_MARK)
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  let isDone = false
  try {
    const manifest = await readManifest(archive)
    const root = await unpack(archive, manifest, staging)
    assertElsewhere(join(runRoot, manifest.instance))
    if (isWithoutPool) forgetPool(join(root, 'boxyard.db'))
    place(root, dataDir)
    isDone = true
    deps.print(summaryOf(manifest, dataDir, isWithoutPool))
  } finally {
    // If a restore failed while it moved files to their places, the mark stays.
    if (isDone || !isBegun(dataDir)) rmSync(staging, { recursive: true, force: true })
  }
}

// Reads it without unpacking anything.
async function readManifest(archive: string): Promise<BackupArchive> {
  const { stdout, stderr, exitCode } = await run('tar', ['-xzOf', archive, `${ARCHIVE_ROOT}/manifest.json`], {
    timeoutMs: TAR_MS,
  })
  if (exitCode !== 0 || stdout === '')
    throw new Error(
      `This is not a complete archive of "admin backup", because it has no manifest. ${stderr.trim().slice(-WORDS)}`,
    )
  const parsed = backupArchiveSchema.safeParse(parseOrNull(stdout))
  if (!parsed.success) throw new Error('The manifest of the archive has an unknown format.')
  const { schema } = parsed.data
  if (schema > MIGRATIONS.length)
    throw new Error(
      `The archive has schema version ${schema}, and this program supports ${MIGRATIONS.length}. Restore it with a newer Boxyard.`,
    )
  return parsed.data
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Unpacks the files that the manifest names, and no others, compares each with it, and returns their directory. */
async function unpack(archive: string, { files, instance }: BackupArchive, staging: string): Promise<string> {
  const names = [...ARCHIVED_FILES, ARCHIVED_SETTINGS].filter((name) => files[name] !== undefined)
  const lacking = (['boxyard.db', 'instance'] as const).find((name) => files[name] === undefined)
  if (lacking !== undefined) throw new Error(`The archive is damaged: ${lacking} is missing.`)
  const paths = names.map((name) => `${ARCHIVE_ROOT}/${name}`)
  const options = ['--no-same-owner', '--no-same-permissions', '--no-recursion']
  const { stderr, exitCode } = await run('tar', ['-xzf', archive, '-C', staging, ...options, '--', ...paths], {
    timeoutMs: TAR_MS,
  })
  if (exitCode !== 0) throw new Error(`The archive is damaged or cannot be unpacked: ${stderr.trim().slice(-WORDS)}`)
  const root = join(staging, ARCHIVE_ROOT)
  for (const name of names) {
    const isFile = lstatSync(join(root, name), { throwIfNoEntry: false })?.isFile() === true
    if (!isFile || (await sha256OfFile(join(root, name))) !== files[name])
      throw new Error(`The archive is damaged: the checksum of ${name} does not match.`)
  }
  if (readFileSync(join(root, 'instance'), 'utf8').trim() !== instance)
    throw new Error('The archive is damaged: the file "instance" belongs to another deployment.')
  return root
}

// Two deployments of one id would take the same names on the host.
function assertElsewhere(runDir: string): void {
  if (!existsSync(runDir)) return
  throw new Error(
    `The deployment of the archive is still on this host (${runDir}). Stop it first with boxyard admin down (in a checkout: npm run down), or restart the host.`,
  )
}

// The database comes last. Without it there is no deployment, and the same command restarts the restore.
function place(root: string, dataDir: string): void {
  mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 })
  for (const name of [ARCHIVED_SETTINGS, ...ARCHIVED_FILES]) {
    const from = join(root, name)
    if (!existsSync(from)) continue
    const to = join(dataDir, name === ARCHIVED_SETTINGS ? RESTORED_SETTINGS : name)
    chmodSync(from, 0o600)
    if (name === 'boxyard.db') {
      moveDurably(from, to)
      continue
    }
    syncPath(from)
    renameSync(from, to)
    syncPath(dirname(to))
  }
}

function summaryOf(
  { made_at: madeAt, pool_id: poolId }: BackupArchive,
  dataDir: string,
  isWithoutPool: boolean,
): string {
  const image = join(dataDir, 'pool.img')
  const pool = isWithoutPool
    ? 'The next start creates an empty pool and the bases of the host. Health then lists the boxes and volumes of the archive as missing.\nDelete them, and restore volumes from their backups.'
    : poolId === null || existsSync(image)
      ? 'Use the pool that you copied with the archive.'
      : `Copy the pool before the start: ${image}.`
  return `Restored to ${dataDir}, with the state of ${madeAt}.
${pool}
The settings of the original host are in ${join(dataDir, RESTORED_SETTINGS)}. Compare them with /etc/boxyard/boxyard.conf.
Tokens that you revoked after that time are valid again. Revoke them once more.`
}

const RESTORED_SETTINGS = 'restored-settings.conf'
/** Left by a database whose process was killed. SQLite would apply them to any file of that name. */
const BESIDE_DATABASE = ['boxyard.db-wal', 'boxyard.db-shm', 'boxyard.db-journal']
const TAR_MS = 3_600_000
/** Most characters of tar's messages. */
const WORDS = 300
const RESTORE_HELP = `Usage: admin restore FILE [--without-pool]

Restores an archive of "admin backup" to the data directory (BOXYARD_DATA_DIR), which must have no deployment. Checks the
checksum of every file first. After an interruption, repeat the command. The service does not start before it is complete.

An archive has no data of boxes and volumes. Copy the pool.img that belongs to it to the data directory before the start. If
the pool is from another time, health reports each difference. Boxyard removes nothing from it.

  --without-pool   create a new pool at the next start, because the old one is lost. Restores tokens, keys, quotas and backups.`
