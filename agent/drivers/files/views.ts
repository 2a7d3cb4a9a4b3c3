import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { attach, PATH_FAULTS } from '../../lib/mounts/namespace-mounts.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, mountPlace, O, openBelow, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT, attachMountTo, UMOUNT, unmount } from '../../lib/syscalls/mounts.ts'
import { setFileOwner } from '../../lib/syscalls/threads.ts'
import type { Steps } from '../../lib/threads/steps.ts'
import { readStartTicks } from '../host/handle.ts'
import { type MountLine, parseMountInfo } from '../host/mount-info.ts'

/**
 * Where the files of a box are seen from: a box that runs, by its init; the root of one that does not; or that root and its
 * volumes as detached mounts, in their order.
 */
export type ViewPlace =
  | { kind: 'running'; pid: number; startTicks: number; idBase: number }
  | { kind: 'root'; rootFd: number }
  | { kind: 'trees'; rootFd: number; volumes: readonly { fd: number; path: string }[] }

/** The files of a box as it sees them, until it is closed. Only in a thread of `createFileThreads`. */
export interface FileView {
  /** The root, open as a path: what is resolved below it with `RESOLVE.IN_ROOT` stays in it, and goes through its mounts. */
  rootFd: number
  /** The id here of the box's id 0. */
  idBase: number
  /** Its mount table, with the paths that the links in /proc/self/fd tell. Throws `box_busy` if the box has ended since. */
  mounts(): MountLine[]
  /** Throws `box_busy` if the box has ended since: nothing more may be written for it. */
  checkLife(): void
  close(): void
}

/** Opens a view. Throws `box_not_running` if it is of a box that does not run any more. */
export function openView(place: ViewPlace): FileView {
  if (place.kind === 'running') return openRunning(place)
  if (place.kind === 'trees') return mountTrees(place)
  return { rootFd: place.rootFd, idBase: 0, mounts: () => [], checkLife: () => undefined, close: () => undefined }
}

/** Makes files as the box's root while `work` runs: nobody else of this side has an id that the box's disks know. */
export function asBoxRoot<T>({ idBase }: FileView, work: () => T): T {
  if (idBase === 0) return work()
  setFileOwner(idBase)
  try {
    return work()
  } finally {
    setFileOwner(0)
  }
}

/** Runs steps as the box's root, without whom nothing can be made on its disks, while it has not ended. */
export function* asBoxRootThroughout<T>(view: FileView, steps: Steps<T>): Steps<T> {
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

function openRunning({ pid, startTicks, idBase }: Extract<ViewPlace, { kind: 'running' }>): FileView {
  const fds: number[] = []
  const close = (): void => fds.splice(0).forEach(closeFd)
  try {
    const rootFd = openBelow(AT.FDCWD, `/proc/${pid}/root`, { flags: O.PATH | O.DIRECTORY })
    fds.push(rootFd)
    // While it is open the mounts stay where they are, even if the box ends: else what is below one would come to light, and be
    // taken for what is in it.
    fds.push(openBelow(AT.FDCWD, `/proc/${pid}/ns/mnt`, { flags: O.RDONLY }))
    // Only now is it certain whose they are: the number of a process that ends is given away.
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
    // It has ended, and was collected or not.
    throw isErrno(error, 'EINVAL', 'ENOENT', 'ESRCH') ? hasEnded(error) : error
  }
}

function mountTrees({ rootFd, volumes }: Extract<ViewPlace, { kind: 'trees' }>): FileView {
  const stage = `/view-${nextView++}`
  makeDirectoryAt(AT.FDCWD, stage, 0o700)
  const close = (): void => {
    // A tree may still be in use by descriptors, which keep what they need of it.
    unmountTree(stage)
    removeAt(AT.FDCWD, stage, AT.REMOVEDIR)
  }
  try {
    attachAt(rootFd, stage)
    const mountIds = [mountPlace(rootFd).mountId]
    for (const { fd, path } of volumes)
      if (attachVolume(rootFd, { fd, path, mountIds })) mountIds.push(mountPlace(fd).mountId)
    const mounts = (): MountLine[] => parseMountInfo(fs.readFileSync('/proc/thread-self/mountinfo'))
    return { rootFd, idBase: 0, mounts, checkLife: () => undefined, close }
  } catch (error) {
    close()
    throw error
  }
}

// As the box itself would be started: one whose place leads nowhere is left out here, and would keep the box from starting.
function attachVolume(rootFd: number, volume: { fd: number; path: string; mountIds: readonly number[] }): boolean {
  const { fd: treeFd, path, mountIds } = volume
  try {
    return attach(rootFd, { treeFd, path, owner: 0, mountIds }).end === 'attached'
  } catch (error) {
    if (isErrno(error, ...PATH_FAULTS, 'EROFS', 'ENOSPC', 'EDQUOT', 'EEXIST')) return false
    throw error
  }
}

function attachAt(treeFd: number, path: string): void {
  const placeFd = openBelow(AT.FDCWD, path, { flags: O.PATH | O.DIRECTORY })
  try {
    attachMountTo(treeFd, placeFd)
  } finally {
    closeFd(placeFd)
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
  return new ServiceError('box_not_running', 'The box is not running any more.', { cause })
}

function hasEnded(cause?: unknown): ServiceError {
  return new ServiceError('box_busy', 'The box was stopped meanwhile; nothing was changed.', { cause })
}

let nextView = 0
