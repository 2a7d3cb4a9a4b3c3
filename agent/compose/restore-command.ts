import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
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
 * `admin restore FILE [--without-pool]`: makes the deployment of an archive in a data directory that has none. What is cut off is
 * done again by the same command.
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
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  assertEmpty(dataDir)
  const image = join(dataDir, 'pool.img')
  // The next start would take it for the new pool.
  if (values['without-pool'] && lstatSync(image, { throwIfNoEntry: false }) !== undefined)
    throw new Error(`${image} is there: restore with it, or move it away before --without-pool.`)
  const unlock = lockDataDirectory(dataDir)
  try {
    // Another restore may have ended meanwhile.
    assertEmpty(dataDir)
    await restore(deps, resolve(given), values['without-pool'])
    return 0
  } finally {
    unlock()
  }
}

function assertEmpty(dataDir: string): void {
  const isCutOff = existsSync(join(dataDir, RESTORE_MARK)) && !existsSync(join(dataDir, 'boxyard.db'))
  const names = isCutOff ? BESIDE_DATABASE : [...ARCHIVED_FILES, ...BESIDE_DATABASE]
  const there = names.filter((name) => existsSync(join(dataDir, name)))
  if (there.length === 0) return
  throw new Error(
    `${dataDir} holds a deployment already (${there.join(', ')}): set BOXYARD_DATA_DIR to an empty directory, or move what is there away.`,
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
    // Of a restore that failed on the way to their places, the mark stays.
    const isBegun = !isDone && ARCHIVED_FILES.some((name) => existsSync(join(dataDir, name)))
    if (!isBegun) rmSync(staging, { recursive: true, force: true })
  }
}

// Reads it without unpacking anything.
async function readManifest(archive: string): Promise<BackupArchive> {
  const { stdout, stderr, exitCode } = await run('tar', ['-xzOf', archive, `${ARCHIVE_ROOT}/manifest.json`], {
    timeoutMs: TAR_MS,
  })
  if (exitCode !== 0 || stdout === '')
    throw new Error(`This is no whole archive of "admin backup": it has no manifest. ${stderr.trim().slice(-WORDS)}`)
  const parsed = backupArchiveSchema.safeParse(parseOrNull(stdout))
  if (!parsed.success) throw new Error('The manifest of the archive is of no form that this program knows.')
  const { schema } = parsed.data
  if (schema > MIGRATIONS.length)
    throw new Error(
      `The archive has schema version ${schema}, this program knows ${MIGRATIONS.length}: restore it with a newer Boxyard.`,
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
  if (lacking !== undefined) throw new Error(`The archive is damaged: ${lacking} is not in it.`)
  const paths = names.map((name) => `${ARCHIVE_ROOT}/${name}`)
  const options = ['--no-same-owner', '--no-same-permissions', '--no-recursion']
  const { stderr, exitCode } = await run('tar', ['-xzf', archive, '-C', staging, ...options, '--', ...paths], {
    timeoutMs: TAR_MS,
  })
  if (exitCode !== 0)
    throw new Error(`The archive is damaged, or could not be unpacked: ${stderr.trim().slice(-WORDS)}`)
  const root = join(staging, ARCHIVE_ROOT)
  for (const name of names) {
    const isFile = lstatSync(join(root, name), { throwIfNoEntry: false })?.isFile() === true
    if (!isFile || (await sha256OfFile(join(root, name))) !== files[name])
      throw new Error(`The archive is damaged: ${name} is not as it was written.`)
  }
  if (readFileSync(join(root, 'instance'), 'utf8').trim() !== instance)
    throw new Error('The archive is damaged: instance is of another deployment.')
  return root
}

// Two deployments of one id would take the same names on the host.
function assertElsewhere(runDir: string): void {
  if (!existsSync(runDir)) return
  throw new Error(
    `The deployment of the archive is still on this host (${runDir}): take it down first (admin down), or restart the host.`,
  )
}

// The database comes last: without it there is no deployment, and the same command begins again.
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
    ? 'The next start makes a new, empty pool and the bases of the host. Boxes and volumes of the archive are listed as missing\nin health: delete them, and restore volumes from their backups.'
    : poolId === null || existsSync(image)
      ? 'The pool is to be the one that was copied with it.'
      : `Bring the pool before the start: ${image}.`
  return `Restored to ${dataDir}, as of ${madeAt}.
${pool}
Settings of the host it comes from are in ${join(dataDir, RESTORED_SETTINGS)}: compare them with /etc/boxyard/boxyard.conf.
Tokens that were revoked after it was made are valid again: revoke them once more.`
}

const RESTORED_SETTINGS = 'restored-settings.conf'
/** Left by a database whose process was killed: SQLite would apply them to any file of that name. */
const BESIDE_DATABASE = ['boxyard.db-wal', 'boxyard.db-shm', 'boxyard.db-journal']
const TAR_MS = 3_600_000
/** Characters of what tar says. */
const WORDS = 300
const RESTORE_HELP = `Usage: admin restore FILE [--without-pool]

Makes the deployment of an archive of "admin backup" in the data directory (BOXYARD_DATA_DIR), which must hold none. Every
file is compared with its checksum first; what is cut off is done again by the same command, and nothing starts on it before.

The data of boxes and volumes is not in an archive: put the pool.img that belongs to it into the data directory before the
start. A pool of another time than the archive's is reported by health where both differ; nothing of it is removed.

  --without-pool   the pool is lost: the next start makes a new one. Tokens, keys, quotas and backups are as they were.`
