import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { forgetPool } from '../drivers/store/inspect.ts'
import { MIGRATIONS } from '../drivers/store/schema.ts'
import { lockDataDirectory } from '../lib/disk/data-lock.ts'
import { moveDurably, syncPath } from '../lib/disk/durable-file.ts'
import { runOk } from '../lib/run.ts'
import {
  ARCHIVE_ROOT,
  ARCHIVED_FILES,
  ARCHIVED_SETTINGS,
  type BackupArchive,
  backupArchiveSchema,
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
  const unlock = lockDataDirectory(dataDir)
  try {
    await restore(deps, resolve(given), values['without-pool'])
    return 0
  } finally {
    unlock()
  }
}

function assertEmpty(dataDir: string): void {
  if (existsSync(join(dataDir, STAGING)) && !existsSync(join(dataDir, 'boxyard.db'))) return
  const there = ARCHIVED_FILES.filter((name) => existsSync(join(dataDir, name)))
  if (there.length === 0) return
  throw new Error(
    `${dataDir} holds a deployment already (${there.join(', ')}): set BOXYARD_DATA_DIR to an empty directory, or move what is there away.`,
  )
}

async function restore(deps: BackupDeps, archive: string, isWithoutPool: boolean): Promise<void> {
  const { dataDir, runRoot } = deps.settings
  const staging = join(dataDir, STAGING)
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  let isDone = false
  try {
    await runOk('tar', ['-xzf', archive, '-C', staging, '--no-same-owner', '--no-same-permissions'], {
      timeoutMs: TAR_MS,
    })
    const root = join(staging, ARCHIVE_ROOT)
    const manifest = await readManifest(root)
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

/** Reads the manifest, and compares every file with it. */
async function readManifest(root: string): Promise<BackupArchive> {
  const path = join(root, 'manifest.json')
  if (!existsSync(path)) throw new Error('This is no archive of "admin backup": it has no manifest.')
  const parsed = backupArchiveSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')))
  if (!parsed.success) throw new Error('The manifest of the archive is of no form that this program knows.')
  const { files, schema } = parsed.data
  for (const name of [...ARCHIVED_FILES, ARCHIVED_SETTINGS]) {
    const stat = lstatSync(join(root, name), { throwIfNoEntry: false })
    const wanted = files[name]
    if (stat === undefined && wanted === undefined) continue
    if (stat?.isFile() !== true || (await sha256OfFile(join(root, name))) !== wanted)
      throw new Error(`The archive is damaged: ${name} is not as it was written.`)
  }
  if (schema > MIGRATIONS.length)
    throw new Error(
      `The archive has schema version ${schema}, this program knows ${MIGRATIONS.length}: restore it with a newer Boxyard.`,
    )
  return parsed.data
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

/** Directory of a restore that is under way. */
const STAGING = '.restoring'
const RESTORED_SETTINGS = 'restored-settings.conf'
const TAR_MS = 3_600_000
const RESTORE_HELP = `Usage: admin restore FILE [--without-pool]

Makes the deployment of an archive of "admin backup" in the data directory (BOXYARD_DATA_DIR), which must hold none. Every
file is compared with its checksum first; what is cut off is done again by the same command.

The data of boxes and volumes is not in an archive: put the pool.img that belongs to it into the data directory before the
start. A pool of another time than the archive's is reported by health where both differ; nothing of it is removed.

  --without-pool   the pool is lost: the next start makes a new one. Tokens, keys, quotas and backups are as they were.`
