import { backupDirectory, DELETED, MANIFEST } from '../../../shared/backup-manifest.ts'
import { createKeyedLock, createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { StoredBackup } from './catalog.ts'
import { type BackupRunDeps, directoryOf, tombstoneOf, writeAll } from './run.ts'
import { signEarlier } from './signing.ts'

export interface BackupRemovalDeps extends BackupRunDeps {
  logger: Logger
}

/** Removes backups from the store, once no other builds on them. */
export interface BackupRemoval {
  /** Marks a backup deleted, durably and for every deployment. Its objects stay until no listed backup needs them. */
  remove(backup: { project: string; volumeId: string; id: string }): Promise<void>
  /** Removes the objects of failed backups, and of deleted ones on which none builds. Signs those that an earlier version made. */
  sweep(project: string): Promise<void>
}

/** Runs one sweep at a time, so that during it backups are only added. */
export function createBackupRemoval(deps: BackupRemovalDeps): BackupRemoval {
  const { records, backupStore, logger } = deps
  const sweeps = createLimiter(1)
  const backupLocks = createKeyedLock()
  const sweep = (project: string): Promise<void> =>
    sweeps.run(async () => {
      try {
        await sweepRecords(deps, project)
        await signEarlier(deps, project)
        await sweepStore(deps, project)
      } catch (error) {
        logger.error('failed to delete unused backups from the store', { project, error })
      }
    })
  return {
    sweep,
    // Serialized per backup, because a client and a schedule may delete the same one.
    remove: ({ project, volumeId, id }) =>
      backupLocks.run(id, async () => {
        if ((await records.get(id))?.deletedAt) return
        await backupStore.put(backupDirectory(project, volumeId, id) + DELETED, emptyObject())
        await recordDeletion(deps, id)
      }),
  }
}

// Records the deletion. Keeps the copy while a running backup is an increment of it.
async function recordDeletion(deps: BackupRemovalDeps, id: string): Promise<void> {
  const now = deps.clock.now()
  const running = await deps.records.running()
  const record = await deps.records.get(id)
  if (!record) return
  const isNeeded = record.status === 'running' || running.some(({ parent }) => parent?.id === id)
  const deleted = { ...record, deletedAt: record.deletedAt ?? now, subvolume: isNeeded ? record.subvolume : null }
  if (record.deletedAt !== null && record.subvolume === deleted.subvolume) return
  await writeAll(deps, [deleted], isNeeded ? [] : tombstoneOf(record.subvolume, now))
}

// Finds failed backups by their records. In the store they look like running ones, since neither has a manifest.
async function sweepRecords(deps: BackupRemovalDeps, project: string): Promise<void> {
  const failed = (await deps.records.all()).filter((each) => each.project === project && each.status === 'failed')
  for (const record of failed.filter(({ isCleared, deletedAt }) => !isCleared || deletedAt !== null)) {
    await removeAll(deps, directoryOf(record), await filesIn(deps, directoryOf(record)))
    if (record.deletedAt !== null) await deps.records.remove(record.id)
    else await deps.records.write([{ ...record, parts: [], isCleared: true }])
  }
  for (const ofVolume of Map.groupBy(failed, ({ volumeId }) => volumeId).values()) {
    for (const { id, isCleared } of ofVolume.slice(0, -FAILED_KEPT)) if (isCleared) await deps.records.remove(id)
  }
}

async function sweepStore(deps: BackupRemovalDeps, project: string): Promise<void> {
  let stored = await deps.catalog.list(project)
  // Another deployment may have deleted it, or a crash cut off a removal.
  for (const { id, files } of stored) if (files.includes(DELETED)) await recordDeletion(deps, id)
  const running = (await deps.records.running()).filter((each) => each.project === project)
  for (let leaf = findLeaf(stored, running); leaf; leaf = findLeaf(stored, running)) {
    const { id, directory, files } = leaf
    await removeAll(deps, directory, files)
    stored = stored.filter((each) => each.id !== id)
  }
  const kept = new Set(stored.map(({ id }) => id))
  for (const { id, status, deletedAt } of await deps.records.all()) {
    if (status !== 'done' || deletedAt === null) continue
    await recordDeletion(deps, id)
    const record = await deps.records.get(id)
    if (record?.project === project && record.subvolume === null && !kept.has(id)) await deps.records.remove(id)
  }
}

// Finds a deleted backup that none builds on. Skips volumes with an unreadable manifest, whose parent is unknown.
function findLeaf(stored: readonly StoredBackup[], running: readonly BackupRecord[]): StoredBackup | undefined {
  const unknown = new Set(
    stored.filter(({ manifest, files }) => manifest === null && files.includes(MANIFEST)).map((each) => each.volumeId),
  )
  const needed = new Set([
    ...stored.map(({ manifest }) => manifest?.incremental_of),
    ...running.flatMap(({ id, parent }) => [id, parent?.id]),
  ])
  return stored.find(({ id, volumeId, files }) => files.includes(DELETED) && !needed.has(id) && !unknown.has(volumeId))
}

/**
 * Deletes the manifest first, so that the rest no longer counts as a backup. Deletes the deletion mark last, so that an interrupted
 * removal continues.
 */
async function removeAll(
  { backupStore }: BackupRemovalDeps,
  directory: string,
  files: readonly string[],
): Promise<void> {
  const rank = (file: string): number => (file === MANIFEST ? 0 : file === DELETED ? 2 : 1)
  for (const file of files.toSorted((a, b) => rank(a) - rank(b))) await backupStore.delete(directory + file)
}

async function filesIn({ backupStore }: BackupRemovalDeps, directory: string): Promise<string[]> {
  const files: string[] = []
  for await (const { name } of backupStore.list(directory)) files.push(name.slice(directory.length))
  return files
}

async function* emptyObject(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('{}\n')
}

/** Failed backups of a volume that are kept in its list, the newest. */
const FAILED_KEPT = 10
