import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { FilesRoot } from '../../ports/files/files.ts'
import type { MountedBox } from '../boxes/mount-table.ts'
import { cloneTree } from '../boxes/tree.ts'
import { rawPathOf } from './paths.ts'
import type { PathArgument } from './reading.ts'
import type { ViewRoot } from './views.ts'

export interface HostFilesOptions {
  /** Finds the running box, or returns null if it does not run. */
  find(boxId: string): MountedBox | null
}

export interface PathTask {
  argument: PathArgument
  fds: readonly number[]
}

export type WithRoot = <T>(root: FilesRoot, path: Uint8Array, work: (task: PathTask) => Promise<T>) => Promise<T>

/** Opens the files of boxes for tasks, through the running box if there is one. Retries while a box stops or starts. */
export function createWithRoot({ find }: HostFilesOptions): WithRoot {
  const openFound = (root: FilesRoot): OpenedRoot =>
    root.isSnapshot === true ? openSnapshot(root) : openFilesRoot(root, find(root.boxId))
  return async (root, path, work) => {
    const raw = rawPathOf(path)
    return retryWhileTransitioning(() => {
      const opened = openFound(root)
      return work({ argument: { root: opened.root, path: raw }, fds: opened.fds })
    })
  }
}

// The box may stop or start between `find` and the opening of its files.
async function retryWhileTransitioning<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'box_not_running') throw error
      if (attempt >= ATTEMPTS_MAX)
        throw refusal('box_busy', ['The box is being stopped or started.', 'Try again when that is done.'], {
          cause: error,
        })
      await sleep(RETRY_MS)
    }
  }
}

/** A root in a form that threads can open, and the descriptors it refers to. */
export interface OpenedRoot {
  root: ViewRoot
  fds: readonly number[]
}

/** Opens files through the running `box`, else by its root and volumes on the disk. */
export function openFilesRoot({ rootPath, mounts }: FilesRoot, box: MountedBox | null): OpenedRoot {
  if (box !== null) {
    const { pid, startTicks, idBase } = box
    return { root: { kind: 'running', pid, startTicks, idBase }, fds: [] }
  }
  if (mounts.length === 0) {
    const rootFd = fs.openSync(rootPath, O.PATH | O.DIRECTORY | O.NOFOLLOW)
    return { root: { kind: 'root', rootFd }, fds: [rootFd] }
  }
  const fds: number[] = []
  try {
    fds.push(cloneTree({ source: rootPath, readOnly: false }, null))
    for (const mount of mounts) fds.push(cloneTree(mount, null))
    const [rootFd = -1, ...volumeFds] = fds
    const volumes = mounts.map(({ path }, index) => ({ fd: volumeFds[index] ?? -1, path }))
    return { root: { kind: 'trees', rootFd, volumes }, fds }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

/** As `openFilesRoot`, for a snapshot. Throws `snapshot_not_found` if it has just been deleted. */
export function openSnapshot(root: FilesRoot): OpenedRoot {
  try {
    return openFilesRoot(root, null)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new ServiceError('snapshot_not_found', 'The snapshot was deleted.', { cause: error })
  }
}

/** As `openSnapshot`. Takes over `fds`, which it closes if it throws. */
export function openBeside(fds: readonly number[], root: FilesRoot): OpenedRoot {
  try {
    const opened = openSnapshot(root)
    return { root: opened.root, fds: [...fds, ...opened.fds] }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

const ATTEMPTS_MAX = 4
const RETRY_MS = 25
