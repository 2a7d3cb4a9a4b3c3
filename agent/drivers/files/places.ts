import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { FilesPlace } from '../../ports/files/files.ts'
import type { MountedBox } from '../boxes/mounts.ts'
import { cloneTree } from '../boxes/tree.ts'
import type { ViewPlace } from './views.ts'

/** A place as a thread can open it, and the descriptors that must be open for that. */
export interface OpenedPlace {
  place: ViewPlace
  fds: readonly number[]
}

/** Opens a place: of a box that runs as `box` tells, else of its root and volumes on the disk. */
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

/** As `openPlace`, of a snapshot. Throws `snapshot_not_found` if that was deleted just now. */
export function openSnapshot(place: FilesPlace): OpenedPlace {
  try {
    return openPlace(place, null)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new ServiceError('snapshot_not_found', 'The snapshot is gone.', { cause: error })
  }
}

/** As `openSnapshot`, with the descriptors `fds` among its own: they are closed if it throws. */
export function openBeside(fds: readonly number[], place: FilesPlace): OpenedPlace {
  try {
    const opened = openSnapshot(place)
    return { place: opened.place, fds: [...fds, ...opened.fds] }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}
