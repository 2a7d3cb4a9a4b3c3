import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { takeRandomBytes } from '../../../shared/random-bytes.ts'
import type { FileFacts, FilePath, Files, FilesRoot } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import { checkSameRoot, liveRoot, type WrittenRoot } from './roots.ts'

export interface FileRestoresDeps {
  store: Store
  files: Files
  filesystem: CowFilesystem
  logger: Logger
}

/**
 * Restores a path of a box from a snapshot, as `Files.restore`. While it runs, a note in the store keeps the temporary name that a
 * crash may leave in the box.
 * @throws ServiceError as `Files.restore`, and `box_busy` if the box has another root or other mounts by the end
 */
export async function restoreFile(
  { store, files }: Pick<FileRestoresDeps, 'store' | 'files'>,
  { from, ...written }: WrittenRoot & { from: FilesRoot },
  path: FilePath,
): Promise<FileFacts> {
  const { root } = written
  const temporaryName = `.boxyard-${takeRandomBytes(8).toString('hex')}`
  const leftover: Leftover = { boxId: root.boxId, path: besides(path, temporaryName).toString('base64') }
  await store.meta.set(NOTE + temporaryName, JSON.stringify(leftover))
  let facts: FileFacts
  try {
    facts = await files.restore(root, from, { path, temporaryName })
  } finally {
    await store.meta.remove(NOTE + temporaryName)
  }
  await checkSameRoot(written)
  return facts
}

/**
 * Removes the temporary files that interrupted restores left in boxes. Call at the start, before any restore begins. The next start
 * retries the failed ones.
 */
export async function removeRestoreLeftovers(deps: FileRestoresDeps): Promise<void> {
  const notes = await deps.store.meta.list(NOTE)
  for (const { key, value } of notes) {
    const leftover = JSON.parse(value) as Leftover
    try {
      await removeLeftover(deps, leftover)
      await deps.store.meta.remove(key)
    } catch (error) {
      deps.logger.warn('failed to remove leftovers of a file restore in a box', { box: leftover.boxId, error })
    }
  }
}

/** Location of a possible leftover. The path in base64. */
interface Leftover {
  boxId: string
  path: string
}

async function removeLeftover(deps: FileRestoresDeps, { boxId, path }: Leftover): Promise<void> {
  const box = await deps.store.boxes.byId(boxId)
  if (box === null) return
  try {
    await deps.files.remove(liveRoot(deps, box), Buffer.from(path, 'base64'), { recursive: true })
  } catch (error) {
    if (!(error instanceof ServiceError) || !GONE.has(error.code)) throw error
  }
}

function besides(path: FilePath, name: string): Buffer {
  let end = path.length
  while (end > 0 && path[end - 1] === SLASH) end--
  return Buffer.concat([path.subarray(0, path.lastIndexOf(SLASH, end - 1) + 1), Buffer.from(name)])
}

const NOTE = 'file-restore:'
const SLASH = 0x2f
// The file was not made yet, or its path is gone or leads elsewhere by now.
const GONE: ReadonlySet<string> = new Set(['file_not_found', 'not_a_directory', 'path_invalid'])
