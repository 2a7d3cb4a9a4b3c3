import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { takeRandomBytes } from '../../../shared/random-bytes.ts'
import type { FileFacts, FilePath, Files, FilesRoot } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { boxMountsOf } from '../reconcile/box-spec.ts'

export interface FileRestoresDeps {
  store: Store
  files: Files
  filesystem: CowFilesystem
  logger: Logger
}

/** Where the files of a box are as it is now. */
export function livePlace({ filesystem }: Pick<FileRestoresDeps, 'filesystem'>, box: BoxRecord): FilesRoot {
  return { boxId: box.id, rootPath: filesystem.path(box.root), mounts: boxMountsOf(box, filesystem) }
}

/**
 * Brings what is at a path of a box back from a snapshot, as `Files.restore`. The name that a crash may leave in the box is noted
 * while it lasts.
 */
export async function restoreFile(
  { store, files }: Pick<FileRestoresDeps, 'store' | 'files'>,
  { place, from }: { place: FilesRoot; from: FilesRoot },
  path: FilePath,
): Promise<FileFacts> {
  const passing = `.boxyard-${takeRandomBytes(8).toString('hex')}`
  const left: Left = { boxId: place.boxId, path: besides(path, passing).toString('base64') }
  await store.meta.set(NOTE + passing, JSON.stringify(left))
  try {
    return await files.restore(place, from, { path, temporaryName: passing })
  } finally {
    await store.meta.remove(NOTE + passing)
  }
}

/**
 * Takes away what restores that were cut off have left in boxes: to be called at the start, before any other begins. What cannot be
 * taken away now, the next start tries again.
 */
export async function removeLeftRestores(deps: FileRestoresDeps): Promise<void> {
  const notes = await deps.store.meta.list(NOTE)
  for (const { key, value } of notes) {
    const left = JSON.parse(value) as Left
    try {
      await removeLeft(deps, left)
      await deps.store.meta.remove(key)
    } catch (error) {
      deps.logger.warn('what a restore of files left in a box could not be taken away', { box: left.boxId, error })
    }
  }
}

/** Where something may be; the path as base64. */
interface Left {
  boxId: string
  path: string
}

async function removeLeft(deps: FileRestoresDeps, { boxId, path }: Left): Promise<void> {
  const box = await deps.store.boxes.byId(boxId)
  if (box === null) return
  try {
    await deps.files.remove(livePlace(deps, box), Buffer.from(path, 'base64'), { recursive: true })
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
// It was not made yet, or it, or the way to it, is no more, or lies elsewhere.
const GONE: ReadonlySet<string> = new Set(['file_not_found', 'not_a_directory', 'path_invalid'])
