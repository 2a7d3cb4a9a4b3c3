import { encodeManifest, MANIFEST } from '../../../shared/backup-manifest.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import { type BackupRunDeps, directoryOf, linesOf, signingKey } from './run.ts'

/**
 * Signs the manifests that an earlier version of this deployment wrote without a signature, if their digest is the recorded one. Call it
 * while nothing is removed from the store.
 */
export async function signEarlier(deps: BackupRunDeps, project: string): Promise<void> {
  const records = (await deps.records.all()).filter((each) => each.project === project)
  for (const record of records) if (record.status === 'done' && !record.isSigned) await signOne(deps, record)
}

async function signOne(deps: BackupRunDeps, record: BackupRecord): Promise<void> {
  const directory = directoryOf(record)
  const read = await deps.catalog.unverified(directory)
  // Somebody has changed it since.
  if (read === null || read.sha256 !== record.sha256) return
  if (read.signature.kind !== 'good') {
    const { text } = encodeManifest(read.manifest, signingKey(deps))
    await deps.backupStore.put(directory + MANIFEST, linesOf(text))
  }
  const current = await deps.records.get(record.id)
  if (current !== null) await deps.records.write([{ ...current, isSigned: true }])
}
