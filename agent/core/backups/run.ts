import {
  type BackupKey,
  type BackupManifest,
  backupDirectory,
  backupOwnerOf,
  encodeManifest,
  MANIFEST,
} from '../../../shared/backup-manifest.ts'
import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import type { BackupStore } from '../../ports/backups/store.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { type CowFilesystem, SendTooLongError } from '../../ports/pool/cow-filesystem.ts'
import type { BackupRecord, BackupRecords } from '../../ports/store/backups.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { BackupCatalog } from './catalog.ts'
import { type Upload, uploadParts } from './parts.ts'

export interface BackupRunDeps {
  records: BackupRecords
  backupStore: BackupStore
  catalog: BackupCatalog
  /** Keys for manifests. The first signs. */
  backupKeys(): readonly BackupKey[]
  filesystem: CowFilesystem
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
}

/** One run of a backup. `signal` aborts when the agent stops or the backup is deleted. */
export interface BackupRun {
  signal: AbortSignal
  /** Returns true if the agent stops. The next agent resumes the backup. */
  isCutOff(): boolean
  progress(share: number | null): void
}

/**
 * Uploads the copy of a volume to the store, resuming an earlier upload, and the manifest last. Keeps the copy as the parent of the
 * next backup and releases the one before. Records a failure, and releases the copy.
 */
export async function runBackup(deps: BackupRunDeps, id: string, run: BackupRun): Promise<void> {
  const found = await deps.records.get(id)
  if (found?.status !== 'running') return
  try {
    const record = await upload(deps, await withParent(deps, found), run)
    const manifest = manifestOf(record)
    const { text, sha256 } = encodeManifest(manifest, signingKey(deps))
    await checkParent(deps, record)
    await deps.backupStore.put(directoryOf(record) + MANIFEST, linesOf(text), run.signal)
    await conclude(deps, { ...record, status: 'done', endedAt: deps.clock.now(), sha256, isSigned: true })
  } catch (error) {
    if (run.isCutOff()) throw error
    await fail(deps, id, asServiceError(error))
    throw error
  }
}

/** @throws Error if there is no key */
export function signingKey({ backupKeys }: Pick<BackupRunDeps, 'backupKeys'>): BackupKey {
  const [key] = backupKeys()
  if (key === undefined) throw new Error('This deployment has no key to sign backups.')
  return key
}

/** Returns the directory of a backup's objects in the store. */
export function directoryOf({ project, volumeId, id }: BackupRecord): string {
  return backupDirectory(project, volumeId, id)
}

// Makes it a full backup if its parent is gone from the pool or from the store.
async function withParent(deps: BackupRunDeps, record: BackupRecord): Promise<BackupRecord> {
  const { parent } = record
  if (parent === null) return record
  const isThere = await deps.filesystem.exists(parent.subvolume)
  const before = isThere && (await deps.catalog.manifest(directoryOf({ ...record, id: parent.id })))
  if (before) return record
  return save(deps, { ...record, ...WHOLE, parts: [] })
}

async function upload(deps: BackupRunDeps, found: BackupRecord, run: BackupRun): Promise<BackupRecord> {
  const { filesystem, backupStore } = deps
  const { subvolume } = found
  if (subvolume === null || !(await filesystem.exists(subvolume))) {
    throw new ServiceError('internal', 'The copy for the backup no longer exists. Create another backup.')
  }
  for (let record = found; ; ) {
    let sentBytes = 0
    const whole = { name: subvolume, parent: null, signal: run.signal }
    const maxBytes = INCREMENT_RATIO * record.usedBytes + INCREMENT_BYTES
    const request = record.parent === null ? whole : { ...whole, parent: record.parent.subvolume, maxBytes }
    const parts = await uploadWithin(filesystem.send(request), (sent) => ({
      store: backupStore,
      directory: directoryOf(record),
      stream: piecesByTurns(sent, backupOwnerOf(directoryOf(record))),
      known: record.parts,
      signal: run.signal,
      onPart: async (stored) => {
        record = await save(deps, { ...record, parts: [...stored] })
      },
      onBytes: (count) => {
        sentBytes += count
        // The size of an increment is not known before its end.
        if (record.parent === null) run.progress(Math.min(0.99, sentBytes / Math.max(1, record.usedBytes)))
      },
    }))
    if (parts !== 'changed' && parts !== 'too long') return { ...record, parts }
    record = await save(deps, { ...record, parts: [], ...(parts === 'too long' ? WHOLE : {}) })
  }
}

/**
 * Uploads what a filesystem sends. Returns `too long` for an increment longer than the whole volume. Records this where the filesystem
 * throws it, because a store that reads the stream converts the errors it meets.
 */
async function uploadWithin(sent: AsyncIterable<Uint8Array>, uploadOf: (sent: AsyncIterable<Uint8Array>) => Upload) {
  let isTooLong = false
  const noted = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* sent
    } catch (error) {
      isTooLong = error instanceof SendTooLongError
      throw error
    }
  }
  try {
    return await uploadParts(uploadOf(noted()))
  } catch (error) {
    if (isTooLong) return 'too long'
    throw error
  }
}

// Fails if the parent was removed from the store.
async function checkParent({ catalog }: BackupRunDeps, record: BackupRecord): Promise<void> {
  if (record.parent === null || (await catalog.manifest(directoryOf({ ...record, id: record.parent.id })))) return
  throw new ServiceError(
    'internal',
    'The backup that this one builds on was removed during the request. Create another backup.',
  )
}

async function conclude(deps: BackupRunDeps, done: BackupRecord): Promise<void> {
  const { records, clock } = deps
  const now = clock.now()
  const last = await withDeletion(deps, done)
  const own = last.deletedAt === null ? [] : tombstoneOf(last.subvolume, now)
  const others = (await records.of(done.volumeId)).filter(({ id, status }) => id !== done.id && status !== 'running')
  const given = others.filter(({ subvolume }) => subvolume !== null)
  const tombstones = given.flatMap(({ subvolume }) => tombstoneOf(subvolume, now))
  const concluded = own.length === 0 ? last : { ...last, subvolume: null }
  const changed = [concluded, ...given.map((record) => ({ ...record, subvolume: null }))]
  await writeAll(deps, changed, [...own, ...tombstones])
}

async function fail(deps: BackupRunDeps, id: string, error: ServiceError): Promise<void> {
  const record = await deps.records.get(id)
  if (record?.status !== 'running') return
  const endedAt = deps.clock.now()
  const failed: BackupRecord = { ...record, status: 'failed', endedAt, error: error.message, subvolume: null }
  await writeAll(deps, [failed], tombstoneOf(record.subvolume, endedAt))
}

async function save(deps: BackupRunDeps, record: BackupRecord): Promise<BackupRecord> {
  const current = await withDeletion(deps, record)
  await deps.records.write([current])
  return current
}

// Keeps a concurrent deletion, which only writes `deletedAt`.
async function withDeletion({ records }: BackupRunDeps, record: BackupRecord): Promise<BackupRecord> {
  return { ...record, deletedAt: (await records.get(record.id))?.deletedAt ?? null }
}

/** Writes records with the tombstones of the copies they release, and schedules their destruction. */
export async function writeAll(
  { records, reconciler }: Pick<BackupRunDeps, 'records' | 'reconciler'>,
  changed: readonly BackupRecord[],
  tombstones: readonly Tombstone[],
): Promise<void> {
  for (const tombstone of await records.write(changed, tombstones)) reconciler.scheduleDestroy(tombstone)
}

/** Returns the tombstone of a released copy. Empty if there is no copy. */
export function tombstoneOf(subvolume: string | null, createdAt: number): Tombstone[] {
  return subvolume === null ? [] : [{ id: subvolume, root: subvolume, createdAt }]
}

function manifestOf(record: BackupRecord): BackupManifest {
  const { id, project, volumeId, volume, sizeGb, usedBytes, createdAt, parent, automatic, parts } = record
  return {
    format: 1,
    id,
    project,
    volume: { id: volumeId, name: volume, size_gb: sizeGb, used_bytes: usedBytes },
    created_at: createdAt,
    incremental_of: parent?.id ?? null,
    automatic,
    size_bytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    parts: parts.map(({ name, sizeBytes, sha256 }) => ({ name, size_bytes: sizeBytes, sha256 })),
  }
}

export async function* linesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

/** Makes a record one of a full backup. */
const WHOLE = { parent: null, depth: 0 } as const
/** Longest increment. Above it the whole volume is sent, without its holes. Stored data is compressed, sent data not always. */
const INCREMENT_RATIO = 4
const INCREMENT_BYTES = 1024 ** 3
