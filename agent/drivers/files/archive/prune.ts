import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { readNames } from '../../../lib/syscalls/directories.ts'
import { rawBytesOf, removeAt } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { statAt } from '../../../lib/syscalls/stat.ts'
import { createTarReader, type TarEntry } from '../../../lib/tar/reader.ts'
import type { Steps, TaskIo } from '../../../lib/threads/task.ts'
import { kindOf } from '../facts.ts'
import { explainFault } from '../faults.ts'
import { type RawPath } from '../paths.ts'
import type { PathArgument } from '../reading.ts'
import { removeTree } from '../removal.ts'
import { checkWritableMount, openDirectoryPath, reopenDirectory } from '../resolve.ts'
import { openView } from '../views.ts'
import { createDirectoryCache, type DirectoryCache } from './directory-cache.ts'
import { EntryRefusedError, entryNames } from './refusals.ts'

/** The prefix of whiteout files (OCI image spec, layers). */
export const WHITEOUT = '.wh.'

/** The message of the task that it is ready for the archive. */
export type PruneSent = { act: 'ready' }

/**
 * Removes the entries of a directory that the whiteouts of an image layer name, and those that the layer replaces with another kind. It is
 * the first of two passes, so that it removes no entry of the layer itself, in any order. Follows no link. Skips names that cannot exist.
 */
export function* pruneTask(
  io: TaskIo<PruneSent, Uint8Array | null>,
  { root, path }: PathArgument,
): Steps<{ removed: number }> {
  const view = openView(root)
  try {
    const destinationFd = openDirectoryPath(view, path)
    const directories = createDirectoryCache(destinationFd)
    try {
      checkWritableMount(destinationFd, path)
      yield* io.send({ act: 'ready' })
      return { removed: yield* pruneAll(io, directories) }
    } finally {
      directories.close()
      closeFd(destinationFd)
    }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

function* pruneAll(io: TaskIo<PruneSent, Uint8Array | null>, directories: DirectoryCache): Steps<number> {
  const reader = createTarReader(io)
  let removed = 0
  for (let entry = yield* reader.next(); entry !== null; entry = yield* reader.next()) {
    try {
      removed += yield* prune(io, directories, entry)
    } catch (error) {
      if (!isNothing(error)) throw error
    }
    if (io.mustPause()) yield 'turn'
  }
  yield* reader.drain()
  return removed
}

function* prune(io: Pausing, directories: DirectoryCache, entry: TarEntry): Steps<number> {
  const names = entryNames(entry.path)
  const name = names.at(-1)
  if (name === undefined) return 0
  const { fd } = directories.open(names.slice(0, -1), { make: false })
  let removed = 0
  if (name === OPAQUE) {
    for (const child of yield* namesIn(io, fd)) removed += yield* remove(io, fd, child)
  } else if (!name.startsWith(WHITEOUT)) {
    const kind = kindOf(statAt(fd, rawBytesOf(name)))
    if ((kind === 'directory') !== (entry.kind === 'directory')) removed += yield* remove(io, fd, name)
  } else if (!name.startsWith(RESERVED)) {
    const target = name.slice(WHITEOUT.length)
    if (!NOWHERE.has(target)) removed += yield* remove(io, fd, target)
  }
  // It may have removed a cached directory.
  if (removed > 0) directories.forget()
  return removed
}

function* namesIn(io: Pausing, fd: number): Steps<RawPath[]> {
  const directoryFd = reopenDirectory(fd)
  try {
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
    const names: RawPath[] = []
    for (let more = readNames(directoryFd, buffer); more !== null; more = readNames(directoryFd, buffer)) {
      names.push(...more)
      if (io.mustPause()) yield 'turn'
    }
    return names
  } finally {
    closeFd(directoryFd)
  }
}

function* remove(io: Pausing, parentFd: number, name: RawPath): Steps<number> {
  const kind = kindOf(statAt(parentFd, rawBytesOf(name)))
  if (kind === 'directory') yield* removeTree(io, name, { parentFd, name })
  else removeAt(parentFd, rawBytesOf(name))
  return 1
}

// Nothing is there to remove. The second pass reports names that cannot be created.
function isNothing(error: unknown): boolean {
  return error instanceof EntryRefusedError || isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'ENAMETOOLONG')
}

type Pausing = Pick<TaskIo, 'mustPause'>

/** Removes the whole contents of the directory. */
const OPAQUE = '.wh..wh..opq'
// Reserved for other systems (aufs).
const RESERVED = '.wh..wh.'
const NOWHERE: ReadonlySet<string> = new Set(['', '.', '..'])
const BUFFER_BYTES = 32 * 1024
