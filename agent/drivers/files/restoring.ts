import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { type FileStat, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { checkNoMount, notADirectory, splitName } from './changes.ts'
import { copyFacts } from './copying.ts'
import type { MainThreadTask } from './durability.ts'
import { kindOf } from './facts.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { checkNoMountsBelow } from './removal.ts'
import { checkReplaceable, replace } from './replacing.ts'
import { checkReadable, checkWritableMount, openDirectoryPath, openName, reopenDirectory, withFd } from './resolve.ts'
import { type MadeDirectories, makeDirectories, openParent } from './targets.ts'
import { type FileView, openView, stepsAsBoxRoot, type ViewRoot } from './views.ts'

export interface RestoreArgument extends PathArgument {
  /** The snapshot. */
  from: ViewRoot
  temporaryName: string
}

/**
 * Restores a path from a snapshot. Makes a copy beside it under a temporary name (a file has none), syncs it, exchanges the two names in
 * one rename, and removes the replaced entry.
 */
export function* restoreTask(
  io: TaskIo<MainThreadTask, 'done'>,
  { root, path, from, temporaryName }: RestoreArgument,
): Steps<FileFacts> {
  const view = openView(root)
  try {
    const snapshot = openView(from)
    try {
      return yield* restore(io, { view, snapshot, path, temporaryName })
    } finally {
      snapshot.close()
    }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

interface RestoreViews {
  view: FileView
  snapshot: FileView
  path: RawPath
  temporaryName: RawPath
}

function* restore(
  io: TaskIo<MainThreadTask, 'done'>,
  { view, snapshot, path, temporaryName }: RestoreViews,
): Steps<FileFacts> {
  const { parent, name, isDirectory } = splitName(path)
  const source = openSource(snapshot, { path, parent, name })
  let target: ParentDirectory | undefined
  try {
    if (isDirectory && kindOf(source.stat) !== 'directory') throw notADirectory(path)
    target = openParentDirectory(view, snapshot, { path, parent })
    if (target.made === null) checkReplaceable(view, { parentFd: target.fd, name, path })
    const replacement = {
      io,
      view,
      path,
      source: { ...source, idBase: view.idBase, path },
      parentFd: target.fd,
      name,
      temporaryName,
    }
    return yield* stepsAsBoxRoot(view, replace(replacement))
  } catch (error) {
    target?.made?.undo()
    throw error
  } finally {
    target?.close()
    closeFd(source.fd)
  }
}

function openSource(
  snapshot: FileView,
  { path, parent, name }: { path: RawPath; parent: RawPath; name: RawPath },
): { fd: number; stat: FileStat } {
  return withFd(openDirectoryPath(snapshot, parent), (parentFd) => {
    const fd = openName(parentFd, name)
    try {
      checkReadable(fd, path)
      checkNoMount(path, { parentFd, fd })
      const stat = statFd(fd)
      if (kindOf(stat) === 'directory') checkNoMountsBelow(snapshot, fd, path)
      return { fd, stat }
    } catch (error) {
      closeFd(fd)
      throw error
    }
  })
}

/** The directory to restore into. */
interface ParentDirectory {
  /** Open with `O_PATH`, so that it stays a directory of the box even if the box renames it. */
  fd: number
  /** The missing directories that this created. */
  made: MadeDirectories | null
  close(): void
}

function openParentDirectory(
  view: FileView,
  snapshot: FileView,
  { path, parent }: { path: RawPath; parent: RawPath },
): ParentDirectory {
  const { fd, missing } = openParent(view, parent, true)
  let made: MadeDirectories | null = null
  try {
    checkWritableMount(fd, path)
    if (missing.length === 0) return { fd, made, close: () => closeFd(fd) }
    const names = parent.split('/').filter((each) => each !== '' && each !== '.')
    const paths = missing.map((_, index) => `/${names.slice(0, names.length - missing.length + index + 1).join('/')}`)
    // Fails before it creates anything.
    for (const above of paths) closeFd(openDirectoryPath(snapshot, above))
    made = makeDirectories(view, { parentFd: fd, names: missing })
    copyDirectoryFacts({ snapshot, idBase: view.idBase }, fd, paths)
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

/** Copies owner, mode and attributes of the snapshot's directories to new ones, each in the one before. */
function copyDirectoryFacts(
  source: { snapshot: FileView; idBase: number },
  fd: number,
  [path, ...others]: readonly RawPath[],
): void {
  if (path === undefined) return
  const { snapshot, idBase } = source
  withFd(openName(fd, path.slice(path.lastIndexOf('/') + 1)), (pathFd) => {
    withFd(reopenDirectory(pathFd), (madeFd) =>
      withFd(openDirectoryPath(snapshot, path), (fromFd) =>
        copyFacts(fromFd, madeFd, { stat: statFd(fromFd), idBase, path }),
      ),
    )
    copyDirectoryFacts(source, pathFd, others)
  })
}
