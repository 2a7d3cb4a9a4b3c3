import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readFd } from '../../lib/syscalls/files.ts'
import { statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/steps.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { factsOf, kindOf } from './facts.ts'
import { withFaults } from './faults.ts'
import { isADirectory, pathInvalid, type RawPath } from './paths.ts'
import { checkReadable, openPath, readFacts, reopenFile, withFd } from './resolve.ts'
import { type FileView, openView, type ViewPlace } from './views.ts'

/** What most tasks are about. */
export interface PathArgument {
  place: ViewPlace
  path: RawPath
}

/** Does `work` in the view of a box: what fails there is about `path`. */
export function inView<T>({ place, path }: PathArgument, work: (view: FileView) => T): T {
  const view = openView(place)
  try {
    return withFaults(path, () => work(view))
  } finally {
    view.close()
  }
}

/** What lstat tells. */
export function* statTask(_: TaskIo, argument: PathArgument): Steps<FileFacts> {
  return inView(argument, (view) =>
    withFd(openPath(view, argument.path, { follow: false }), (fd) => {
      checkReadable(fd, argument.path)
      return readFacts(view, fd)
    }),
  )
}

/** A file that was read at once. */
export interface SmallFile {
  facts: FileFacts
  bytes: Uint8Array
}

/** A larger one, open until the task is ended. */
export interface LargeFile {
  facts: FileFacts
  fd: number
}

/** Opens a regular file, of which a small one is read and done with; of another it says the descriptor, and keeps it open. */
export function* openTask(io: TaskIo<LargeFile, never>, argument: PathArgument): Steps<SmallFile> {
  const { fd, facts } = inView(argument, (view) => openRegular(view, argument.path))
  try {
    const small = facts.sizeBytes > SMALL_BYTES ? null : withFaults(argument.path, () => readSmall(fd, facts))
    if (small !== null) return small
    yield* io.say({ facts, fd })
    return yield* io.hear()
  } finally {
    closeFd(fd)
  }
}

// The file is opened twice: to open what is no file may have an effect, or wait for someone, and what has the name may change.
function openRegular(view: FileView, path: RawPath): LargeFile {
  return withFd(openPath(view, path, { follow: true }), (pathFd) => {
    checkReadable(pathFd, path)
    const stat = statFd(pathFd)
    if (kindOf(stat) === 'directory') throw isADirectory(path)
    if (kindOf(stat) !== 'file') throw pathInvalid(path, 'it is no regular file')
    const fd = reopenFile(pathFd)
    return { fd, facts: factsOf(statFd(fd), view.idBase, null) }
  })
}

/** Null if it became shorter meanwhile. */
function readSmall(fd: number, facts: FileFacts): SmallFile | null {
  const bytes = Buffer.allocUnsafeSlow(facts.sizeBytes)
  for (let done = 0; done < bytes.length; ) {
    const count = readFd(fd, bytes.subarray(done))
    if (count === 0) return null
    done += count
  }
  return { facts, bytes }
}

/** Up to here a file is carried by one message. */
export const SMALL_BYTES = 64 * 1024
