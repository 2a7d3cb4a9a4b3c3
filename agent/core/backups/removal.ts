import { backupDirectory, DELETED, MANIFEST } from '../../../shared/backup-manifest.ts'
import { createKeyedLock, createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { StoredBackup } from './catalog.ts'
import { type BackupRunDeps, directoryOf, tombstoneOf, writeAll } from './run.ts'

export interface BackupRemovalDeps extends BackupRunDeps {
  logger: Logger
}

/** Takes backups out of the store, once nothing builds on them. */
export interface BackupRemoval {
  /** Durably gone for clients, wherever they look; its objects go when no backup that is listed needs them. */
  remove(backup: { project: string; volumeId: string; id: string }): Promise<void>
  /** Removes the objects of what nobody needs: deleted backups that none builds on, and failed ones. */
  sweep(project: string): Promise<void>
}

/** One sweep at a time: what is read at its beginning holds to its end, but for what is added. */
export function createBackupRemoval(deps: BackupRemovalDeps): BackupRemoval {
  const { records, backupStore, logger } = deps
  const inTurn = createLimiter(1)
  const turns = createKeyedLock()
  const sweep = (project: string): Promise<void> =>
    inTurn.run(async () => {
      try {
        await sweepRecords(deps, project)
        await sweepStore(deps, project)
      } catch (error) {
        logger.error('backups that nobody needs stay in the store', { project, error })
      }
    })
  return {
    sweep,
    // By one at a time: people and a schedule may want the same one gone.
    remove: ({ project, volumeId, id }) =>
      turns.run(id, async () => {
        if ((await records.get(id))?.deletedAt) return
        await backupStore.put(backupDirectory(project, volumeId, id) + DELETED, emptyObject())
        await forget(deps, id)
      }),
  }
}

// One that builds on it still has to tell the difference from its copy.
async function forget(deps: BackupRemovalDeps, id: string): Promise<void> {
  const now = deps.clock.now()
  const running = await deps.records.running()
  const record = await deps.records.get(id)
  if (!record) return
  const isNeeded = record.status === 'running' || running.some(({ parent }) => parent?.id === id)
  const forgotten = { ...record, deletedAt: record.deletedAt ?? now, subvolume: isNeeded ? record.subvolume : null }
  if (record.deletedAt !== null && record.subvolume === forgotten.subvolume) return
  await writeAll(deps, [forgotten], isNeeded ? [] : tombstoneOf(record.subvolume, now))
}

// What failed has no manifest, so that in the store nobody knows whether it is still being made.
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
  // Another deployment may have deleted it, or this one was cut off in it.
  for (const { id, files } of stored) if (files.includes(DELETED)) await forget(deps, id)
  const running = (await deps.records.running()).filter((each) => each.project === project)
  for (let leaf = findLeaf(stored, running); leaf; leaf = findLeaf(stored, running)) {
    const { id, directory, files } = leaf
    await removeAll(deps, directory, files)
    stored = stored.filter((each) => each.id !== id)
  }
  const kept = new Set(stored.map(({ id }) => id))
  for (const { id, status, deletedAt } of await deps.records.all()) {
    if (status !== 'done' || deletedAt === null) continue
    await forget(deps, id)
    const record = await deps.records.get(id)
    if (record?.project === project && record.subvolume === null && !kept.has(id)) await deps.records.remove(id)
  }
}

// Where a manifest cannot be read, nobody knows what that backup builds on: nothing of its volume goes.
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

/** The manifest goes first, so that what is half gone is no backup, and last what says that all of it is to go. */
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

/** Failed backups of a volume that are told of, the newest. */
const FAILED_KEPT = 10
