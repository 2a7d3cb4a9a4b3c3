import { changeOwner, closeFd } from '../../lib/syscalls/descriptors.ts'
import { changeMode } from '../../lib/syscalls/directories.ts'
import { type FileStat, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/steps.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { checkNoMount, notADirectory, splitName } from './changes.ts'
import type { MainThreadTask } from './durability.ts'
import { kindOf } from './facts.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { checkNoMountsBelow } from './removal.ts'
import { findReplaced, replace } from './replacing.ts'
import { checkReadable, checkWritableMount, openDirectoryPath, openName, reopenDirectory, withFd } from './resolve.ts'
import { type MadeDirectories, makeDirectories, openParent } from './targets.ts'
import { asBoxRootThroughout, type FileView, openView, type ViewPlace } from './views.ts'

export interface RestoreArgument extends PathArgument {
  /** Of the snapshot. */
  from: ViewPlace
  /** The hidden name. */
  passing: string
}

/**
 * Brings what is at a path back to what it was in a snapshot. A copy is made beside it under a hidden name, is on the disk, and
 * then has its name in one step: what had it takes the hidden one, and is removed. Of a file the copy has no name before that.
 */
export function* restoreTask(
  io: TaskIo<MainThreadTask, 'done'>,
  { place, path, from, passing }: RestoreArgument,
): Steps<FileFacts> {
  const view = openView(place)
  try {
    const past = openView(from)
    try {
      return yield* restore(io, { view, past, path, passing })
    } finally {
      past.close()
    }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

interface Views {
  view: FileView
  past: FileView
  path: RawPath
  passing: RawPath
}

function* restore(io: TaskIo<MainThreadTask, 'done'>, { view, past, path, passing }: Views): Steps<FileFacts> {
  const { parent, name, isDirectory } = splitName(path)
  const source = openSource(past, { path, parent, name })
  let home: Home | undefined
  try {
    if (isDirectory && kindOf(source.stat) !== 'directory') throw notADirectory(path)
    home = openHome(view, past, { path, parent })
    if (home.made === null) findReplaced(view, { homeFd: home.fd, name, path })
    const making = { io, view, path, source: { ...source, idBase: view.idBase }, homeFd: home.fd, name, passing }
    return yield* asBoxRootThroughout(view, replace(making))
  } catch (error) {
    home?.made?.undo()
    throw error
  } finally {
    home?.close()
    closeFd(source.fd)
  }
}

function openSource(
  past: FileView,
  { path, parent, name }: { path: RawPath; parent: RawPath; name: RawPath },
): { fd: number; stat: FileStat } {
  return withFd(openDirectoryPath(past, parent), (parentFd) => {
    const fd = openName(parentFd, name)
    try {
      checkReadable(fd, path)
      checkNoMount(path, { parentFd, fd })
      const stat = statFd(fd)
      if (kindOf(stat) === 'directory') checkNoMountsBelow(past, fd, path)
      return { fd, stat }
    } catch (error) {
      closeFd(fd)
      throw error
    }
  })
}

/** The directory that is to have what is restored. */
interface Home {
  /** Open as a path. Whatever the box renames from now on it is a directory of the box. */
  fd: number
  /** Those that were missing. */
  made: MadeDirectories | null
  close(): void
}

function openHome(view: FileView, past: FileView, { path, parent }: { path: RawPath; parent: RawPath }): Home {
  const { fd, missing } = openParent(view, parent, true)
  let made: MadeDirectories | null = null
  try {
    checkWritableMount(fd, path)
    if (missing.length === 0) return { fd, made, close: () => closeFd(fd) }
    const names = parent.split('/').filter((each) => each !== '' && each !== '.')
    const stats = missing.map((_, index) => {
      const above = names.slice(0, names.length - missing.length + index + 1)
      return withFd(openDirectoryPath(past, `/${above.join('/')}`), statFd)
    })
    made = makeDirectories(view, { parentFd: fd, names: missing })
    takeAfter(view.idBase, fd, { missing, stats })
    const last = made
    const close = (): void => {
      last.close()
      closeFd(fd)
    }
    return { fd: last.fd, made, close }
  } catch (error) {
    made?.undo()
    made?.close()
    closeFd(fd)
    throw error
  }
}

/** Gives directories, each in the one before, owner and mode of those of the snapshot. */
function takeAfter(
  idBase: number,
  fd: number,
  { missing, stats }: { missing: readonly RawPath[]; stats: readonly FileStat[] },
): void {
  const [name, ...others] = missing
  const [stat, ...rest] = stats
  if (name === undefined || stat === undefined) return
  withFd(openName(fd, name), (pathFd) => {
    withFd(reopenDirectory(pathFd), (madeFd) => {
      changeOwner(madeFd, idBase + stat.uid, idBase + stat.gid)
      changeMode(madeFd, stat.mode & 0o7777)
    })
    takeAfter(idBase, pathFd, { missing: others, stats: rest })
  })
}
