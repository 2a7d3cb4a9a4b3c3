import fs from 'node:fs'
import type { Mounter } from '../../lib/mounts/mounter.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { AT, cloneMount, MOUNT_ATTR, setMountAttributes } from '../../lib/syscalls/mounts.ts'
import type { BoxMount } from '../../ports/boxes/runtime.ts'
import { parseMountInfo } from '../host/mount-info.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'

/** Mounts the tree `source` at the directory `target` of process `pid`, idmapped by the user namespace at a path. */
export interface StageTask {
  pid: number
  userNamespace: string
  source: string
  readOnly: boolean
  target: string
}

/** Makes the tree `source` the root of process `pid`, which shares its namespaces with no other, with files of the host mounted in it. */
export interface ReplaceTask {
  pid: number
  source: string
  /** Host paths of files, by their paths below the root. */
  files: Readonly<Record<string, string>>
}

/** Mounts a tree in the mount namespace of a process that is about to create a container. */
export async function stageTree(mounter: Mounter, task: StageTask): Promise<void> {
  const { pid, target } = task
  const treeFd = withNamespace(task.userNamespace, (fd) => cloneTree({ ...task, isRoot: true }, fd))
  const mountIds = parseMountInfo(fs.readFileSync(`/proc/${pid}/mountinfo`)).map(({ id }) => id)
  const namespaceFd = fs.openSync(`/proc/${pid}/ns/mnt`, 'r')
  const { end } = await mounter.run({ act: 'attach', namespaceFd, treeFd, path: target, owner: 0, mountIds })
  if (end !== 'attached') throw new Error(`a root could not be mounted: ${end}`)
}

/** Replaces the root of a running container by a tree, with the system's directories and the files that a box has. */
export async function replaceTree(mounter: Mounter, { pid, source, files }: ReplaceTask): Promise<void> {
  const opened: { path: string; fd: number }[] = []
  let treeFd: number
  try {
    for (const [path, from] of Object.entries(files)) opened.push({ path, fd: cloneReadOnly({ path: from }) })
    treeFd = withNamespace(`/proc/${pid}/ns/user`, (fd) => cloneTree({ source, readOnly: false, isRoot: true }, fd))
  } catch (error) {
    for (const { fd } of opened) closeFd(fd)
    throw error
  }
  const namespaceFd = fs.openSync(`/proc/${pid}/ns/mnt`, 'r')
  await mounter.run({ act: 'root', namespaceFd, treeFd, directories: MOUNT_DIRECTORIES, files: opened })
}

/**
 * Clones a tree as a detached mount for a box, idmapped by a user namespace. With null, ids are as on disk. The mount vanishes with its
 * descriptor, unless it was attached. Setuid programs work only on the root of a box.
 */
export function cloneTree(
  { source, readOnly, isRoot = false }: Omit<BoxMount, 'path'> & { isRoot?: boolean },
  userNamespaceFd: number | null,
): number {
  const treeFd = cloneMount(AT.FDCWD, source)
  try {
    const [set, clear] = isRoot ? [0, MOUNT_ATTR.NOSUID] : [MOUNT_ATTR.NOSUID, 0]
    const flags = { set: set | MOUNT_ATTR.NODEV | (readOnly ? MOUNT_ATTR.RDONLY : 0), clear }
    setMountAttributes(treeFd, { ...flags, isPrivate: true, ...(userNamespaceFd === null ? {} : { userNamespaceFd }) })
    return treeFd
  } catch (error) {
    closeFd(treeFd)
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

/** Clones a file or tree as a read-only detached mount, and returns its descriptor. */
export function cloneReadOnly(source: { fd: number } | { path: string }): number {
  const fd = 'fd' in source ? cloneMount(source.fd, '') : cloneMount(AT.FDCWD, source.path)
  try {
    const set = MOUNT_ATTR.RDONLY | MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | MOUNT_ATTR.NOEXEC
    setMountAttributes(fd, { set, isPrivate: true })
    return fd
  } catch (error) {
    closeFd(fd)
    throw error
  }
}
