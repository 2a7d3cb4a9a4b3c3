import {
  type BackupKey,
  type BackupManifest,
  type BackupPart,
  backupDirectory,
  DELETED,
  type DecodedManifest,
  decodeManifest,
  MANIFEST,
  objectOf,
  volumesDirectory,
} from '../../../shared/backup-manifest.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { BackupStore } from '../../ports/backups/store.ts'

/** A backup as found in the store. */
export interface StoredBackup {
  project: string
  volumeId: string
  id: string
  /** With a trailing slash. */
  directory: string
  /** File names in the directory. */
  files: string[]
  /** Null: missing, as in an incomplete backup, altered, or not trusted. */
  manifest: BackupManifest | null
  sha256: string | null
  /** Why the manifest is not trusted, as a clause. Null if it is, is missing, or altered. */
  distrust: string | null
}

export interface BackupCatalogDeps {
  store: BackupStore
  /** Keys that verify manifests. */
  keys(): readonly BackupKey[]
  /** Whether this deployment has recorded that it wrote a manifest of this digest for a backup. */
  hasWritten(id: string, sha256: string): Promise<boolean>
  /** Whether manifests without a signature, or of an unknown key, are used all the same. */
  acceptsUnverified: boolean
}

/**
 * Reads backups of this deployment, and of others whose key it knows, only from the store. It verifies a manifest before it uses it, by the
 * signature or by the recorded digest.
 */
export interface BackupCatalog {
  /** Lists the backups of a project, or of all with null, by id, incomplete ones included. */
  list(project: string | null): Promise<StoredBackup[]>
  /** Finds one by its id. Null if the store has no object of it. */
  find(project: string, id: string): Promise<StoredBackup | null>
  /** Reads the manifest in a directory. Null if it is missing, altered or not trusted. */
  manifest(directory: string): Promise<Pick<DecodedManifest, 'manifest' | 'sha256'> | null>
  /** Reads a manifest with its signature, without verifying it. Null if it is missing or unreadable. */
  unverified(directory: string): Promise<DecodedManifest | null>
  /**
   * Reads the manifests of a backup and of those it builds on, the full one first.
   * @throws ServiceError `backup_damaged` that names the manifest that is missing, altered or not trusted
   */
  chain(backup: { project: string; volumeId: string; id: string }): Promise<ChainLink[]>
}

/** One backup of a chain. */
export interface ChainLink {
  directory: string
  manifest: BackupManifest
  parts: BackupPart[]
}

/** Creates a catalog that reads the store at each call. */
export function createBackupCatalog(deps: BackupCatalogDeps): BackupCatalog {
  const { store } = deps
  const unverified: BackupCatalog['unverified'] = async (directory) => {
    const pieces = await store.get(directory + MANIFEST)
    const read = pieces && decodeManifest(await textOf(pieces), deps.keys())
    // A manifest of another backup's directory is not accepted.
    return read && backupDirectory(read.manifest.project, read.manifest.volume.id, read.manifest.id) === directory
      ? read
      : null
  }
  const look = async (directory: string): Promise<Pick<StoredBackup, 'manifest' | 'sha256' | 'distrust'>> => {
    const read = await unverified(directory)
    const distrust = read && (await reasonToDistrust(deps, read))
    if (read === null || distrust !== null) return { ...NOTHING, distrust }
    return { manifest: read.manifest, sha256: read.sha256, distrust }
  }
  const scan = async (prefix: string): Promise<Map<string, StoredBackup>> => {
    const found = new Map<string, StoredBackup>()
    for await (const { name } of store.list(prefix)) {
      const object = objectOf(name)
      if (!object) continue
      const { file, ...ref } = object
      const directory = backupDirectory(ref.project, ref.volumeId, ref.id)
      const entry = found.get(directory) ?? { ...ref, directory, files: [], ...NOTHING }
      entry.files.push(file)
      found.set(directory, entry)
    }
    return found
  }
  const list: BackupCatalog['list'] = async (project) => {
    const found = [...(await scan(project === null ? 'projects/' : volumesDirectory(project))).values()]
    for (const entry of found) {
      if (entry.files.includes(MANIFEST)) Object.assign(entry, await look(entry.directory))
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  return {
    list,
    unverified,
    manifest: async (directory) => {
      const { manifest, sha256 } = await look(directory)
      return manifest === null || sha256 === null ? null : { manifest, sha256 }
    },
    find: async (project, id) => {
      const entry = [...(await scan(volumesDirectory(project))).values()].find((each) => each.id === id)
      return entry ? Object.assign(entry, await look(entry.directory)) : null
    },
    chain: async ({ project, volumeId, id }) => {
      const chain: ChainLink[] = []
      for (let next: string | null = id; next !== null; ) {
        const directory = backupDirectory(project, volumeId, next)
        const { manifest, distrust } = await look(directory)
        if (distrust !== null) throw distrusted(directory + MANIFEST, distrust)
        if (manifest === null || chain.length > CHAIN_MAX) throw damaged(directory + MANIFEST)
        const parts = manifest.parts.map(({ name, size_bytes, sha256 }) => ({ name, sizeBytes: size_bytes, sha256 }))
        chain.unshift({ directory, manifest, parts })
        next = manifest.incremental_of
      }
      return chain
    },
  }
}

/** Returns null for a manifest whose writer is known or need not be known. Otherwise returns the fault, as a clause. */
async function reasonToDistrust(
  { hasWritten, acceptsUnverified }: BackupCatalogDeps,
  { manifest, sha256, signature }: DecodedManifest,
): Promise<string | null> {
  if (signature.kind === 'good' || acceptsUnverified || (await hasWritten(manifest.id, sha256))) return null
  return signature.kind === 'none'
    ? 'has no signature, such as one from an earlier version'
    : `is signed with the key "${signature.keyId}", which this deployment does not have`
}

/** Returns true if clients see it, which means that it is complete and not deleted. */
export function isListed({ manifest, files }: StoredBackup): boolean {
  return manifest !== null && !files.includes(DELETED)
}

export function damaged(name: string): ServiceError {
  return refusal('backup_damaged', [
    `The backup cannot be restored: "${name}" is missing or was altered.`,
    'Restore another backup of the volume, or delete this one.',
  ])
}

/** @throws ServiceError `backup_damaged` for a backup whose manifest is not trusted, unless it is deleted */
export function checkTrusted(stored: StoredBackup | null): void {
  if (stored === null || stored.distrust === null || stored.files.includes(DELETED)) return
  throw distrusted(stored.directory + MANIFEST, stored.distrust)
}

/** Makes the error of a manifest that this deployment cannot verify. */
function distrusted(name: string, why: string): ServiceError {
  return refusal('backup_damaged', [
    `The backup is not used, since nothing proves who wrote it: "${name}" ${why}.`,
    'The operator can add the key of the deployment that made it (admin keys trust), or set BOXYARD_BACKUP_UNVERIFIED=true.',
  ])
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true })
    if (text.length > MANIFEST_CHARACTERS_MAX) return ''
  }
  return text + decoder.decode()
}

// A hundred thousand parts, which is 6 TiB.
const MANIFEST_CHARACTERS_MAX = 16 * 1024 ** 2
const CHAIN_MAX = 1000
const NOTHING = { manifest: null, sha256: null, distrust: null }
