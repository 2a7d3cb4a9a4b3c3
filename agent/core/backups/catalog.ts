import {
  type BackupManifest,
  type BackupPart,
  backupDirectory,
  DELETED,
  decodeManifest,
  MANIFEST,
  objectOf,
  volumesDirectory,
} from '../../../shared/backup-manifest.ts'
import { ServiceError } from '../../../shared/errors.ts'
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
  /** Null: missing, as in an incomplete backup, or altered. */
  manifest: BackupManifest | null
  sha256: string | null
}

/** Reads backups from the store alone, which suffices to restore them, those of other deployments included. */
export interface BackupCatalog {
  /** Lists the backups of a project, or of all with null, by id, incomplete ones included. */
  list(project: string | null): Promise<StoredBackup[]>
  /** Finds one by its id; null if the store has no object of it. */
  find(project: string, id: string): Promise<StoredBackup | null>
  /** Reads the manifest in a directory; null if it is missing or altered. */
  manifest(directory: string): Promise<{ manifest: BackupManifest; sha256: string } | null>
  /**
   * Reads the manifests of a backup and of those it builds on, the full one first.
   * @throws ServiceError `backup_damaged` that names the manifest that is missing or altered
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
export function createBackupCatalog(store: BackupStore): BackupCatalog {
  const readManifest: BackupCatalog['manifest'] = async (directory) => {
    const pieces = await store.get(directory + MANIFEST)
    const read = pieces && decodeManifest(await textOf(pieces))
    // A manifest of another backup's directory is not accepted.
    return read && backupDirectory(read.manifest.project, read.manifest.volume.id, read.manifest.id) === directory
      ? read
      : null
  }
  const scan = async (prefix: string): Promise<Map<string, StoredBackup>> => {
    const found = new Map<string, StoredBackup>()
    for await (const { name } of store.list(prefix)) {
      const object = objectOf(name)
      if (!object) continue
      const { file, ...ref } = object
      const directory = backupDirectory(ref.project, ref.volumeId, ref.id)
      const entry = found.get(directory) ?? { ...ref, directory, files: [], manifest: null, sha256: null }
      entry.files.push(file)
      found.set(directory, entry)
    }
    return found
  }
  const list: BackupCatalog['list'] = async (project) => {
    const found = [...(await scan(project === null ? 'projects/' : volumesDirectory(project))).values()]
    for (const entry of found) {
      if (entry.files.includes(MANIFEST)) Object.assign(entry, await readManifest(entry.directory))
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  return {
    list,
    manifest: readManifest,
    find: async (project, id) => {
      const entry = [...(await scan(volumesDirectory(project))).values()].find((each) => each.id === id)
      return entry ? Object.assign(entry, await readManifest(entry.directory)) : null
    },
    chain: async ({ project, volumeId, id }) => {
      const chain: ChainLink[] = []
      for (let next: string | null = id; next !== null; ) {
        const directory = backupDirectory(project, volumeId, next)
        const read = await readManifest(directory)
        if (!read || chain.length > CHAIN_MAX) throw damaged(directory + MANIFEST)
        const { manifest } = read
        const parts = manifest.parts.map(({ name, size_bytes, sha256 }) => ({ name, sizeBytes: size_bytes, sha256 }))
        chain.unshift({ directory, manifest, parts })
        next = manifest.incremental_of
      }
      return chain
    },
  }
}

/** Returns true if clients see it: it is complete and not deleted. */
export function isListed({ manifest, files }: StoredBackup): boolean {
  return manifest !== null && !files.includes(DELETED)
}

export function damaged(name: string): ServiceError {
  return new ServiceError('backup_damaged', `The backup cannot be restored: "${name}" is missing or was altered.`)
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
