import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readFd } from '../../lib/syscalls/files.ts'
import { statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { factsOf, kindOf } from './facts.ts'
import { withFaults } from './faults.ts'
import { countHoles, hasHole } from './holes.ts'
import { isADirectory, pathInvalid, type RawPath } from './paths.ts'
import { checkReadable, openPath, readFacts, reopenFile, withFd } from './resolve.ts'
import { type FileView, openView, type ViewRoot } from './views.ts'

/** The argument of most tasks. */
export interface PathArgument {
  root: ViewRoot
  path: RawPath
}

/** Runs `work` in the view of a box, translating failed system calls as faults of `path`. */
export function inView<T>({ root, path }: PathArgument, work: (view: FileView) => T): T {
  const view = openView(root)
  try {
    return withFaults(path, () => work(view))
  } finally {
    view.close()
  }
}

/** Reads the details of a path as lstat does. */
export function* statTask(_: TaskIo, argument: PathArgument): Steps<FileFacts> {
  return inView(argument, (view) =>
    withFd(openPath(view, argument.path, { follow: false }), (fd) => {
      checkReadable(fd, argument.path)
      return readFacts(view, fd)
    }),
  )
}

/** A small file, read whole. */
export interface SmallFile {
  facts: FileFacts
  bytes: Uint8Array
}

/** A larger file, open until the task ends. */
export interface LargeFile {
  act: 'opened'
  facts: FileFacts
  fd: number
  hasHoles: boolean
}

/**
 * Messages of the task. The first has the opened file. Each other one answers a `ByteSpan` with its bytes of holes, up to `HOLES_MAX` or
 * more.
 */
export type OpenSent = LargeFile | { act: 'counted'; holeBytes: number }

/** The bytes from `start` to `end` (exclusive). */
export interface ByteSpan {
  start: number
  end: number
}

/**
 * Opens a regular file. Returns a small one whole. Sends the descriptor of a larger one, keeps it open until the task ends, and counts the
 * holes of requested spans.
 */
export function* openTask(io: TaskIo<OpenSent, ByteSpan>, argument: PathArgument): Steps<SmallFile> {
  const { fd, facts } = inView(argument, (view) => openRegular(view, argument.path))
  try {
    const small = facts.sizeBytes > SMALL_BYTES ? null : withFaults(argument.path, () => readSmall(fd, facts))
    if (small !== null) return small
    yield* io.send({ act: 'opened', facts, fd, hasHoles: hasHole(fd) })
    for (;;) {
      const span = yield* io.receive()
      yield* io.send({ act: 'counted', holeBytes: yield* countHoles(io, fd, { ...span, maxBytes: HOLES_MAX }) })
    }
  } finally {
    closeFd(fd)
  }
}

// Opens twice, because opening a device or FIFO may have an effect or block. The first time uses an `O_PATH` descriptor to check the kind.
function openRegular(view: FileView, path: RawPath): Pick<LargeFile, 'fd' | 'facts'> {
  return withFd(openPath(view, path, { follow: true }), (pathFd) => {
    checkReadable(pathFd, path)
    const stat = statFd(pathFd)
    if (kindOf(stat) === 'directory') throw isADirectory(path)
    if (kindOf(stat) !== 'file') throw pathInvalid(path, 'it is not a regular file')
    const fd = reopenFile(pathFd)
    return { fd, facts: factsOf(statFd(fd), view.idBase, null) }
  })
}

/** Returns null if the file became shorter in the meantime. */
function readSmall(fd: number, facts: FileFacts): SmallFile | null {
  const bytes = Buffer.allocUnsafeSlow(facts.sizeBytes)
  for (let done = 0; done < bytes.length; ) {
    const count = readFd(fd, bytes.subarray(done))
    if (count === 0) return null
    done += count
  }
  return { facts, bytes }
}

/** The most bytes of holes in one answer. Holes cost no disk space and no quota, but the service sends each of them as a zero. */
export const HOLES_MAX = 64 * 1024 ** 3
/** Maximum size of a file that goes into one message. */
export const SMALL_BYTES = 64 * 1024
