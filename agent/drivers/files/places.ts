import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { FilesPlace } from '../../ports/files/files.ts'
import type { MountedBox } from '../boxes/mounts.ts'
import { cloneTree } from '../boxes/tree.ts'
import { rawPathOf } from './paths.ts'
import type { PathArgument } from './reading.ts'
import type { ViewPlace } from './views.ts'

export interface HostFilesOptions {
  /** Finds the running box; null if it does not run. */
  find(boxId: string): MountedBox | null
}

export interface PathTask {
  argument: PathArgument
  fds: readonly number[]
}

export type WithPlace = <T>(place: FilesPlace, path: Uint8Array, work: (task: PathTask) => Promise<T>) => Promise<T>

/** Opens places for tasks, through the running box if there is one, and retries while a box stops or starts. */
export function createWithPlace({ find }: HostFilesOptions): WithPlace {
  const openFound = (place: FilesPlace): OpenedPlace =>
    place.isSnapshot === true ? openSnapshot(place) : openPlace(place, find(place.boxId))
  return async (place, path, work) => {
    const raw = rawPathOf(path)
    return retryWhileTransitioning(() => {
      const opened = openFound(place)
      return work({ argument: { place: opened.place, path: raw }, fds: opened.fds })
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
        throw new ServiceError('box_busy', 'The box is being stopped or started.', { cause: error })
      await sleep(RETRY_MS)
    }
  }
}

/** A place in a form that threads can open, and the descriptors it refers to. */
export interface OpenedPlace {
  place: ViewPlace
  fds: readonly number[]
}

/** Opens a place through the running `box`, else by its root and volumes on the disk. */
export function openPlace({ rootPath, mounts }: FilesPlace, box: MountedBox | null): OpenedPlace {
  if (box !== null) {
    const { pid, startTicks, idBase } = box
    return { place: { kind: 'running', pid, startTicks, idBase }, fds: [] }
  }
  if (mounts.length === 0) {
    const rootFd = fs.openSync(rootPath, O.PATH | O.DIRECTORY | O.NOFOLLOW)
    return { place: { kind: 'root', rootFd }, fds: [rootFd] }
  }
  const fds: number[] = []
  try {
    fds.push(cloneTree({ source: rootPath, readOnly: false }, null))
    for (const mount of mounts) fds.push(cloneTree(mount, null))
    const [rootFd = -1, ...volumeFds] = fds
    const volumes = mounts.map(({ path }, index) => ({ fd: volumeFds[index] ?? -1, path }))
    return { place: { kind: 'trees', rootFd, volumes }, fds }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

/** As `openPlace`, for a snapshot. Throws `snapshot_not_found` if it has just been deleted. */
export function openSnapshot(place: FilesPlace): OpenedPlace {
  try {
    return openPlace(place, null)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new ServiceError('snapshot_not_found', 'The snapshot is gone.', { cause: error })
  }
}

/** As `openSnapshot`; takes over `fds`, which it closes if it throws. */
export function openBeside(fds: readonly number[], place: FilesPlace): OpenedPlace {
  try {
    const opened = openSnapshot(place)
    return { place: opened.place, fds: [...fds, ...opened.fds] }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

const ATTEMPTS_MAX = 4
const RETRY_MS = 25
