import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { readNames } from '../../../lib/syscalls/directories.ts'
import { removeAt } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { statAt } from '../../../lib/syscalls/stat.ts'
import { createTarReader, type TarEntry } from '../../../lib/tar/reader.ts'
import type { Steps, TaskIo } from '../../../lib/threads/steps.ts'
import { kindOf } from '../facts.ts'
import { explainFault } from '../faults.ts'
import { type RawPath, rawBytesOf } from '../paths.ts'
import type { PathArgument } from '../reading.ts'
import { removeTree } from '../removal.ts'
import { checkWritableMount, openDirectoryPath, reopenDirectory } from '../resolve.ts'
import { openView } from '../views.ts'
import { entryNames, RefusedName } from './names.ts'
import { createPlaces, type Places } from './places.ts'

/** What a layer of an image says of the layers below it begins with this, in the place of a name (OCI image spec, layers). */
export const WHITEOUT = '.wh.'

/** What the task says: that it takes the archive. */
export type PruneSent = { act: 'ready' }

/**
 * Removes from a directory what a layer of an image takes away, and what it puts something of another kind in the place of:
 * the first of two passes over it, so that nothing which the layer brings is removed, in whatever order it tells. No link is gone
 * through; what cannot be there is passed over.
 */
export function* pruneTask(
  io: TaskIo<PruneSent, Uint8Array | null>,
  { place, path }: PathArgument,
): Steps<{ removed: number }> {
  const view = openView(place)
  try {
    const destinationFd = openDirectoryPath(view, path)
    const places = createPlaces(destinationFd)
    try {
      checkWritableMount(destinationFd, path)
      yield* io.say({ act: 'ready' })
      return { removed: yield* pruneAll(io, places) }
    } finally {
      places.close()
      closeFd(destinationFd)
    }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

function* pruneAll(io: TaskIo<PruneSent, Uint8Array | null>, places: Places): Steps<number> {
  const reader = createTarReader(() => io.hear())
  let removed = 0
  for (let entry = yield* reader.next(); entry !== null; entry = yield* reader.next()) {
    try {
      removed += yield* prune(io, places, entry)
    } catch (error) {
      if (!isNothing(error)) throw error
    }
    if (io.mustPause()) yield 'turn'
  }
  yield* reader.drain()
  return removed
}

function* prune(io: Pausing, places: Places, entry: TarEntry): Steps<number> {
  const names = entryNames(entry.path)
  const name = names.at(-1)
  if (name === undefined) return 0
  const { fd } = places.open(names.slice(0, -1), { make: false })
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
  // What was opened may be gone.
  if (removed > 0) places.forget()
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

// It is not there, or it is there by another name alone: the second pass tells of what cannot be made.
function isNothing(error: unknown): boolean {
  return error instanceof RefusedName || isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'ENAMETOOLONG')
}

type Pausing = Pick<TaskIo, 'mustPause'>

/** All that is in the directory goes. */
const OPAQUE = '.wh..wh..opq'
// What other systems keep for themselves.
const RESERVED = '.wh..wh.'
const NOWHERE: ReadonlySet<string> = new Set(['', '.', '..'])
const BUFFER_BYTES = 32 * 1024
