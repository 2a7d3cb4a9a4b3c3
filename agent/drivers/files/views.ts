import fs from 'node:fs'
import type { ServiceError } from '../../../shared/errors.ts'
import { RESUME, refusal } from '../../../shared/refusals.ts'
import { attach, PATH_FAULTS } from '../../lib/mounts/namespace-mounts.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, readFileMount, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT, attachMountTo, UMOUNT, unmount } from '../../lib/syscalls/mounts.ts'
import { setFileOwner } from '../../lib/syscalls/threads.ts'
import type { Steps } from '../../lib/threads/task.ts'
import { readStartTicks } from '../host/handle.ts'
import { type MountLine, parseMountInfo } from '../host/mount-info.ts'

/**
 * Source of a view: the init of a running box, the root of a stopped one, or that root and its volumes as detached mounts, in mount order.
 */
export type ViewRoot =
  | { kind: 'running'; pid: number; startTicks: number; idBase: number }
  | { kind: 'root'; rootFd: number }
  | { kind: 'trees'; rootFd: number; volumes: readonly { fd: number; path: string }[] }

/** The files of a box as the box sees them. Usable only in a thread of `createFileThreads`, until closed. */
export interface FileView {
  /** The root, open with `O_PATH`. Paths resolved below it with `RESOLVE.IN_ROOT` stay in it and cross its mounts. */
  rootFd: number
  /** The host id of the box's id 0. */
  idBase: number
  /** Reads its mount table, with paths in the form of /proc/self/fd. Throws `box_busy` if the box has ended since. */
  mounts(): MountLine[]
  /** Throws `box_busy` if the box has ended since. No task may write for it then. */
  checkLife(): void
  close(): void
}

/** Opens a view. Throws `box_not_running` if the box should run and has ended. */
export function openView(root: ViewRoot): FileView {
  if (root.kind === 'running') return openRunning(root)
  if (root.kind === 'trees') return mountTrees(root)
  return { rootFd: root.rootFd, idBase: 0, mounts: () => [], checkLife: () => undefined, close: () => undefined }
}

/** Runs `work` with the box's root as the owner of new files, because the box's idmapped mounts accept no host id. */
export function asBoxRoot<T>({ idBase }: FileView, work: () => T): T {
  if (idBase === 0) return work()
  setFileOwner(idBase)
  try {
    return work()
  } finally {
    setFileOwner(0)
  }
}

/** Runs steps as `asBoxRoot` does, each of them. Throws `box_busy` at a pause after which the box has ended. */
export function* stepsAsBoxRoot<T>(view: FileView, steps: Steps<T>): Steps<T> {
  let isDone = false
  try {
    for (;;) {
      const step = asBoxRoot(view, () => steps.next())
      isDone = step.done === true
      if (step.done === true) return step.value
      yield step.value
      view.checkLife()
    }
  } finally {
    if (!isDone) steps.return(undefined as never)
  }
}

function openRunning({ pid, startTicks, idBase }: Extract<ViewRoot, { kind: 'running' }>): FileView {
  const fds: number[] = []
  const close = (): void => fds.splice(0).forEach(closeFd)
  try {
    const rootFd = openBelow(AT.FDCWD, `/proc/${pid}/root`, { flags: O.PATH | O.DIRECTORY })
    fds.push(rootFd)
    // Keeps the mounts in place even if the box ends. Otherwise tasks would mistake the directories below the mount points for them.
    fds.push(openBelow(AT.FDCWD, `/proc/${pid}/ns/mnt`, { flags: O.RDONLY }))
    // Checks last, because another process may have reused the pid before the files were opened.
    if (readStartTicks(pid) !== startTicks) throw notRunning()
    return {
      rootFd,
      idBase,
      mounts: () => readMounts(pid),
      checkLife: () => {
        if (readStartTicks(pid) !== startTicks) throw hasEnded()
      },
      close,
    }
  } catch (error) {
    close()
    throw isErrno(error, 'ENOENT', 'ESRCH', 'EINVAL', 'EACCES') ? notRunning(error) : error
  }
}

function readMounts(pid: number): MountLine[] {
  try {
    return parseMountInfo(fs.readFileSync(`/proc/${pid}/mountinfo`))
  } catch (error) {
    // The process has ended, reaped or not.
    throw isErrno(error, 'EINVAL', 'ENOENT', 'ESRCH') ? hasEnded(error) : error
  }
}

function mountTrees({ rootFd, volumes }: Extract<ViewRoot, { kind: 'trees' }>): FileView {
  const stagePath = `/view-${nextView++}`
  makeDirectoryAt(AT.FDCWD, stagePath, 0o700)
  const close = (): void => {
    // Detaches lazily: open descriptors keep the mounts they need.
    unmountTree(stagePath)
    removeAt(AT.FDCWD, stagePath, AT.REMOVEDIR)
  }
  try {
    attachTree(rootFd, stagePath)
    const mountIds = [readFileMount(rootFd).mountId]
    for (const { fd, path } of volumes)
      if (attachVolume(rootFd, { fd, path, mountIds })) mountIds.push(readFileMount(fd).mountId)
    const mounts = (): MountLine[] => parseMountInfo(fs.readFileSync('/proc/thread-self/mountinfo'))
    return { rootFd, idBase: 0, mounts, checkLife: () => undefined, close }
  } catch (error) {
    close()
    throw error
  }
}

// Mounts a volume as a start of the box would. Skips one whose path cannot be mounted, which would fail the start.
function attachVolume(rootFd: number, volume: { fd: number; path: string; mountIds: readonly number[] }): boolean {
  const { fd: treeFd, path, mountIds } = volume
  try {
    return attach(rootFd, { treeFd, path, owner: 0, mountIds }).end === 'attached'
  } catch (error) {
    if (isErrno(error, ...PATH_FAULTS, 'EROFS', 'ENOSPC', 'EDQUOT', 'EEXIST')) return false
    throw error
  }
}

function attachTree(treeFd: number, path: string): void {
  const mountPointFd = openBelow(AT.FDCWD, path, { flags: O.PATH | O.DIRECTORY })
  try {
    attachMountTo(treeFd, mountPointFd)
  } finally {
    closeFd(mountPointFd)
  }
}

function unmountTree(path: string): void {
  try {
    unmount(path, UMOUNT.DETACH)
  } catch (error) {
    if (!isErrno(error, 'EINVAL')) throw error
  }
}

function notRunning(cause?: unknown): ServiceError {
  return refusal('box_not_running', ['The box is not running any more.', RESUME], { cause })
}

function hasEnded(cause?: unknown): ServiceError {
  return refusal('box_busy', ['The box stopped during the request. Nothing changed.', 'Try again.'], { cause })
}

let nextView = 0
