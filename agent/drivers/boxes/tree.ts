import fs from 'node:fs'
import type { Mounter } from '../../lib/mounts/mounter.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { AT, cloneMount, MOUNT_ATTR, setMountAttributes } from '../../lib/syscalls/mounts.ts'
import type { BoxMount } from '../../ports/boxes/runtime.ts'
import { parseMountInfo } from '../host/mount-info.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'

/** A directory `target` that the process `pid` has gets the tree `source`, with the ids of the user namespace at a path. */
export interface StageTask {
  pid: number
  userNamespace: string
  source: string
  readOnly: boolean
  target: string
}

/** The process `pid`, alone in its namespaces, gets the tree `source` for its root, and files of the host in it. */
export interface ReplaceTask {
  pid: number
  source: string
  /** Host paths by their places below the root, where a file is. */
  files: Readonly<Record<string, string>>
}

/** Mounts a tree where a container is about to be made. */
export async function stageTree(mounter: Mounter, task: StageTask): Promise<void> {
  const { pid, target } = task
  const treeFd = withNamespace(task.userNamespace, (fd) => cloneTree(task, fd))
  const mountIds = parseMountInfo(fs.readFileSync(`/proc/${pid}/mountinfo`)).map(({ id }) => id)
  const namespaceFd = fs.openSync(`/proc/${pid}/ns/mnt`, 'r')
  const { end } = await mounter.run({ act: 'attach', namespaceFd, treeFd, path: target, owner: 0, mountIds })
  if (end !== 'attached') throw new Error(`a root could not be mounted: ${end}`)
}

/** Puts a tree in place of the root of a container that runs, with the system's directories and the files that a box has. */
export async function replaceTree(mounter: Mounter, { pid, source, files }: ReplaceTask): Promise<void> {
  const opened: { path: string; fd: number }[] = []
  let treeFd: number
  try {
    for (const [path, from] of Object.entries(files)) opened.push({ path, fd: cloneFile(from) })
    treeFd = withNamespace(`/proc/${pid}/ns/user`, (fd) => cloneTree({ source, readOnly: false }, fd))
  } catch (error) {
    for (const { fd } of opened) closeFd(fd)
    throw error
  }
  const namespaceFd = fs.openSync(`/proc/${pid}/ns/mnt`, 'r')
  await mounter.run({ act: 'root', namespaceFd, treeFd, directories: MOUNT_DIRECTORIES, files: opened })
}

/**
 * A detached copy of a tree for a box, its ids mapped by a user namespace; null: as on disk. It is gone with its descriptor,
 * unless it is mounted.
 */
export function cloneTree({ source, readOnly }: Omit<BoxMount, 'path'>, userNamespaceFd: number | null): number {
  const treeFd = cloneMount(AT.FDCWD, source)
  try {
    const set = MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | (readOnly ? MOUNT_ATTR.RDONLY : 0)
    setMountAttributes(treeFd, { set, isPrivate: true, ...(userNamespaceFd === null ? {} : { userNamespaceFd }) })
    return treeFd
  } catch (error) {
    closeFd(treeFd)
    throw error
  }
}

function cloneFile(path: string): number {
  const fd = cloneMount(AT.FDCWD, path)
  try {
    const set = MOUNT_ATTR.RDONLY | MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | MOUNT_ATTR.NOEXEC
    setMountAttributes(fd, { set, isPrivate: true })
    return fd
  } catch (error) {
    closeFd(fd)
    throw error
  }
}

function withNamespace<T>(path: string, use: (fd: number) => T): T {
  const fd = fs.openSync(path, 'r')
  try {
    return use(fd)
  } finally {
    closeFd(fd)
  }
}
