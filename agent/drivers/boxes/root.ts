import { closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import {
  AT,
  attachMountAt,
  cloneMount,
  MOUNT_ATTR,
  setMountAttributes,
  unmountIfMounted,
} from '../../lib/syscalls/mounts.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'

/**
 * Ensures that the root has real directories to mount on, replacing what its owner put there, and returns those of `files`
 * (names below /etc) for which it has, or now has, a regular file. Touches nothing outside `rootPath`. Throws `storage_full`
 * where a directory is missing and there is no space for it.
 */
export function prepareMountPoints(rootPath: string, files: readonly string[]): string[] {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    for (const name of MOUNT_DIRECTORIES) ensureDirectory(rootFd, name)
    return files.filter((name) => hasMountFile(rootFd, name))
  } finally {
    closeFd(rootFd)
  }
}

/**
 * Mounts the root tree at `stage`, idmapped by the user namespace, so that ids on disk stay 0–65535. Setuid programs work on it:
 * they get ids of the box's user namespace alone, and no other process of the host sees the mount.
 */
export function stageRoot(rootPath: string, stage: string, userNamespace: string): void {
  mkdirSync(stage, { mode: 0o711 })
  const mountFd = cloneMount(AT.FDCWD, rootPath)
  try {
    const userNamespaceFd = openSync(userNamespace, 'r')
    try {
      setMountAttributes(mountFd, { set: MOUNT_ATTR.NODEV, clear: MOUNT_ATTR.NOSUID, userNamespaceFd })
    } finally {
      closeSync(userNamespaceFd)
    }
    attachMountAt(mountFd, stage)
  } finally {
    closeFd(mountFd)
  }
}

/** Undoes `stageRoot`; succeeds if there is nothing. */
export function unstageRoot(stage: string): void {
  unmountIfMounted(stage)
  try {
    rmdirSync(stage)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function ensureDirectory(rootFd: number, name: string): void {
  const kind = kindAt(rootFd, name)
  if (kind === 'directory') return
  try {
    if (kind !== null) removeAt(rootFd, name)
    makeDirectoryAt(rootFd, name, 0o755)
  } catch (error) {
    if (!isErrno(error, ...FULL)) throw error
    throw new ServiceError('storage_full', 'The box has no space left for the directories it needs to start.', {
      cause: error,
    })
  }
}

/** Returns false if the owner has put a directory there, or has no space left: the box then starts without that file. */
function hasMountFile(rootFd: number, name: string): boolean {
  const path = `etc/${name}`
  const kind = kindAt(rootFd, path)
  if (kind === 'file') return true
  if (kind === 'directory') return false
  let etcFd: number | undefined
  try {
    etcFd = openBelow(rootFd, 'etc', { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
    if (kind !== null) removeAt(etcFd, name)
    closeFd(openBelow(etcFd, name, { flags: O.WRONLY | O.CREAT | O.EXCL, mode: 0o644, resolve: STRICT }))
    return true
  } catch (error) {
    if (isErrno(error, ...ABSENT, ...FULL)) return false
    throw error
  } finally {
    if (etcFd !== undefined) closeFd(etcFd)
  }
}

function kindAt(rootFd: number, path: string): 'directory' | 'file' | 'other' | null {
  try {
    const fd = openBelow(rootFd, path, { flags: O.PATH | O.NOFOLLOW, resolve: RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS })
    try {
      const type = fstatSync(fd).mode & constants.S_IFMT
      return type === constants.S_IFDIR ? 'directory' : type === constants.S_IFREG ? 'file' : 'other'
    } finally {
      closeFd(fd)
    }
  } catch (error) {
    if (isErrno(error, ...ABSENT)) return null
    throw error
  }
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const FULL = ['ENOSPC', 'EDQUOT']
// Errors that the owner can cause with a path: also a link that leads out (EXDEV), or nowhere.
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EXDEV', 'EAGAIN']
