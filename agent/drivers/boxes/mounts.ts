import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { RESUME, refusal } from '../../../shared/refusals.ts'
import type { Cover } from '../../lib/mounts/covers.ts'
import { createMounter, type Mounter } from '../../lib/mounts/mounter.ts'
import { type NamespaceOutcome, PATH_FAULTS } from '../../lib/mounts/namespace-mounts.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BoxMount } from '../../ports/boxes/runtime.ts'
import { readStartTicks } from '../host/handle.ts'
import type { MountLine } from '../host/mount-info.ts'
import { WHOLE_COPIES } from '../host/nesting.ts'
import { createTreeLocker, type TreeLocker } from './locked-trees.ts'
import { type DataMount, type MountedBox, readMounts, readMountTable } from './mount-table.ts'
import { findTreeUsers } from './mount-users.ts'
import { checkNestedUsers } from './nested-users.ts'
import { cloneTree, type ReplaceTask, replaceTree, type StageTask, stageTree } from './tree.ts'

/** The data mounts of running boxes. Reads them from the boxes' own mount tables, so that it keeps no state. */
export interface BoxMounts {
  /** Starts the mount thread ahead of the first mount. */
  open(): Promise<void>
  /** Makes the `WHOLE_COPIES` of a box with nesting that has just started. */
  copySystem(box: MountedBox): Promise<void>
  /** As `Runtime.attach`. The tree must be on the filesystem of the box's root. */
  attach(box: MountedBox, mount: BoxMount): Promise<void>
  /** As `Runtime.detach`. `processes` returns the host pids of the box, to name those that use the tree. */
  detach(box: MountedBox, source: string, processes: () => number[]): Promise<void>
  /** As `Runtime.mounts`. Empty if the box has ended. */
  list(box: MountedBox): BoxMount[]
  /** Lists all mounts of a box. Empty if it has ended. */
  table(box: MountedBox): MountLine[]
  /** Mounts over existing files and directories of a box, and closes the descriptors. */
  cover(box: MountedBox, covers: readonly Cover[]): Promise<void>
  /** Clones the mount at `path` in the mount namespace of process `pid`, and returns a descriptor of the detached mount. */
  clone(pid: number, path: string): Promise<number>
  /** Mounts a root in the mount namespace of a process that is about to create a box's container. */
  stage(task: StageTask): Promise<void>
  /** Replaces the root of a running container, a warm pod's, with the root of a box. */
  replaceRoot(task: ReplaceTask): Promise<void>
  close(): Promise<void>
}

/** Mounts from this process's mount namespace, which its main thread must not leave. Mounts of boxes with nesting pass through `stage`. */
export function createBoxMounts(stage: string): BoxMounts {
  const mounter = createMounter()
  const locker = createTreeLocker(mounter, stage)
  return {
    open: () => mounter.open(),
    copySystem: (box) => copySystem(mounter, box),
    attach: (box, mount) => attach({ mounter, locker }, box, mount),
    detach: (box, source, processes) => detach(mounter, box, { source, processes }),
    list: (box) => {
      const { data } = readMountTable(box)
      const shown = new Map(data.map(({ source, path, readOnly }) => [source, { source, path, readOnly }]))
      return runs(box) ? [...shown.values()] : []
    },
    table: (box) => readMounts(box.pid).lines,
    cover: (box, covers) => cover(mounter, box, covers),
    clone: (pid, path) => cloneFrom(mounter, fs.openSync(`/proc/${pid}/ns/mnt`, 'r'), path),
    stage: (task) => stageTree(mounter, task),
    replaceRoot: (task) => replaceTree(mounter, task),
    close: () => mounter.close(),
  }
}

async function copySystem(mounter: Mounter, box: MountedBox): Promise<void> {
  for (const [from, path] of Object.entries(WHOLE_COPIES)) {
    const treeFd = await cloneFrom(mounter, openNamespaces(box, 'mnt')[0], from)
    const mountIds = readMounts(box.pid).lines.map(({ id }) => id)
    const [namespaceFd] = openNamespaces(box, 'mnt')
    const task = { act: 'attach', namespaceFd, treeFd, path, owner: box.idBase, mountIds } as const
    const { end } = await mounter.run(task)
    if (end !== 'attached') throw new Error(`${path} of a box could not be mounted: ${end}`)
  }
}

async function cloneFrom(mounter: Mounter, namespaceFd: number, path: string): Promise<number> {
  const outcome = await mounter.run({ act: 'clone', namespaceFd, path })
  if (outcome.end !== 'cloned') throw new Error(`the mount at ${path} could not be cloned: ${outcome.end}`)
  return outcome.fd
}

interface MountTools {
  mounter: Mounter
  locker: TreeLocker
}

async function attach(tools: MountTools, box: MountedBox, mount: BoxMount): Promise<void> {
  const { mounter } = tools
  checkPath(mount.path)
  const { data, mountIds, isWhole } = readMountTable(box)
  if (!isWhole) throw pathInvalid(mount.path, 'the box has too many mounts.')
  const present = data.find(({ source }) => source === mount.source)
  if (present !== undefined) return checkSame(mounter, box, { present, mount })
  const outcome = await mountTree(tools, box, { mount, mountIds })
  if (outcome.end === 'taken')
    throw pathInvalid(mount.path, 'something is mounted there already, or it leads to the root.')
  if (outcome.end === 'foreign') throw pathInvalid(mount.path, "it does not lead to a directory on the box's disk.")
  if (!runs(box)) throw notRunning()
  if (data.length > 0) await checkHidesNone(mounter, box, mount)
}

// A link may have led above an existing mount, which the new one would hide and make impossible to detach.
async function checkHidesNone(mounter: Mounter, box: MountedBox, { source, path }: BoxMount): Promise<void> {
  const { data } = readMountTable(box)
  const added = data.find((each) => each.source === source)
  const hidden = data.find(({ rawPath, parentId }) => {
    return added !== undefined && parentId !== added.id && rawPath.startsWith(`${added.rawPath}/`)
  })
  if (hidden === undefined) return
  await detach(mounter, box, { source, processes: () => [] })
  throw pathInvalid(path, `a volume there would hide that which is mounted at ${hidden.path} in the box.`)
}

// The path may be another name of the mounted directory.
async function checkSame(
  mounter: Mounter,
  box: MountedBox,
  { present, mount }: { present: DataMount; mount: BoxMount },
): Promise<void> {
  const outcome = await mounter.run({ act: 'locate', namespaceFd: openNamespaces(box, 'mnt')[0], path: mount.path })
  const isThere = outcome.end === 'taken' && outcome.mountId === present.id
  if (!isThere) throw pathInvalid(mount.path, `the volume is mounted at ${present.path} in the box.`)
  if (present.readOnly !== mount.readOnly)
    throw pathInvalid(mount.path, `the volume is mounted there ${present.readOnly ? 'read-only' : 'read-write'}.`)
}

async function mountTree(
  { mounter, locker }: MountTools,
  box: MountedBox,
  { mount, mountIds }: { mount: BoxMount; mountIds: readonly number[] },
): Promise<NamespaceOutcome> {
  const [namespaceFd, userNamespaceFd] = openNamespaces(box, 'mnt', 'user')
  let treeFd: number
  try {
    treeFd = cloneTree(mount, userNamespaceFd)
    if (box.nesting === true) treeFd = await locker.lock(treeFd)
  } catch (error) {
    closeFd(namespaceFd)
    throw error
  } finally {
    closeFd(userNamespaceFd)
  }
  try {
    return await mounter.run({ act: 'attach', namespaceFd, treeFd, path: mount.path, owner: box.idBase, mountIds })
  } catch (error) {
    throw explainFailure(mount.path, error)
  }
}

async function cover(mounter: Mounter, box: MountedBox, covers: readonly Cover[]): Promise<void> {
  let namespaceFd: number
  try {
    ;[namespaceFd] = openNamespaces(box, 'mnt')
  } catch (error) {
    for (const { fd } of covers) if (fd !== null) closeFd(fd)
    throw error
  }
  await mounter.run({ act: 'cover', namespaceFd, covers })
}

function explainFailure(path: string, error: unknown): unknown {
  if (isErrno(error, 'ENOSPC', 'EDQUOT'))
    return refusal(
      'storage_full',
      [
        `There is no space left in the box for the directory ${path}.`,
        'Delete files in the box, or raise its `storage_gb`.',
      ],
      {
        cause: error,
      },
    )
  if (isErrno(error, 'EROFS'))
    return pathInvalid(path, 'a directory is missing, and the volume it would be in is read-only.', error)
  if (isErrno(error, ...PATH_FAULTS))
    return pathInvalid(
      path,
      'it leads through a file, a broken or circular link, or a directory that does not stay.',
      error,
    )
  return error
}

async function detach(
  mounter: Mounter,
  box: MountedBox,
  { source, processes }: { source: string; processes: () => number[] },
): Promise<void> {
  const isNesting = box.nesting === true
  if (isNesting) await checkNestedUsers(box, source, processes())
  for (let moves = 0, busies = 0; moves < MOVES_MAX && busies < BUSIES_MAX; ) {
    // Later mounts may lie in earlier ones.
    const found = readMountTable(box).showing(source).at(-1)
    if (found === undefined) return isNesting ? checkNestedUsers(box, source, processes()) : undefined
    const task = { act: 'unmount', path: found.rawPath, mountId: found.id } as const
    const { end } = await mounter.run({ ...task, namespaceFd: openNamespaces(box, 'mnt')[0] })
    if (end === 'unmounted' && !isNesting) return
    if (end === 'moved' || end === 'unmounted') moves++
    else {
      const busy = await explainBusy(box, { ...found, source }, processes())
      if (busy !== null) throw busy
      busies++
    }
  }
  throw refusal('volume_busy', ['The volume is in use, or directories above it are being renamed.', 'Try again.'])
}

/** Returns the error that names the users of a mount, or null if there are none, so that a retry may succeed. */
async function explainBusy(box: MountedBox, mount: DataMount, pids: readonly number[]): Promise<ServiceError | null> {
  const { all } = readMountTable(box)
  const inner = all.find(({ parentId }) => parentId === mount.id)
  if (inner !== undefined)
    return refusal('volume_busy', [
      `${box.nesting === true ? 'Something' : 'Another volume'} is mounted inside it, at ${inner.path}.`,
      box.nesting === true ? 'Detach or unmount that first.' : 'Detach that first.',
    ])
  const users = await findTreeUsers(pids, fs.statSync(mount.source).dev)
  if (users.length === 0) return null
  const named = users.map(({ pid, name }) => `${pid} (${name})`).join(', ')
  return refusal('volume_busy', [`Processes of the box use the volume at ${mount.path}: ${named}.`, 'End them first.'])
}

// Checks after opening, because another process may reuse the pid. So the descriptors belong to the checked process.
function openNamespaces<const T extends readonly ('mnt' | 'user')[]>(
  box: MountedBox,
  ...kinds: T
): { [K in keyof T]: number } {
  const fds: number[] = []
  try {
    for (const kind of kinds) fds.push(fs.openSync(`/proc/${box.pid}/ns/${kind}`, 'r'))
    if (!runs(box)) throw notRunning()
    return fds as { [K in keyof T]: number }
  } catch (error) {
    fds.forEach(closeFd)
    // A process that has ended, and is not reaped yet, has no namespaces.
    throw runs(box) && !isErrno(error, ...GONE) ? error : notRunning()
  }
}

function runs({ pid, startTicks }: MountedBox): boolean {
  return readStartTicks(pid) === startTicks
}

function checkPath(path: string): void {
  const names = path.split('/').slice(1)
  const isPlain = path.startsWith('/') && names.every((name) => name !== '.' && name !== '..') && !path.includes('\0')
  if (!isPlain) throw pathInvalid(path, 'it must be absolute, without `.` and `..`.')
}

function pathInvalid(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('path_invalid', `${path}: ${why}`, { cause })
}

function notRunning(): ServiceError {
  return refusal('box_not_running', ['The box is not running.', RESUME])
}

// Errors of a process that has ended and therefore has no mount namespace, or no pid.
const GONE = ['ENOENT', 'ESRCH', 'EINVAL'] as const
// Retries: a box may rename directories forever, and users of a mount may just have ended.
const MOVES_MAX = 50
const BUSIES_MAX = 3
