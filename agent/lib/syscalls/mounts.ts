import { closeFd } from './descriptors.ts'
import { checked, checkedAsync, isErrno, lazyNative } from './libc.ts'

export interface MountRequest {
  /** Device or directory to bind, or null. */
  source: string | null
  target: string
  /** Filesystem type such as `btrfs`. Null for binds, remounts and propagation changes. */
  type: string | null
  flags: number
  /** Filesystem options, such as `compress=zstd:1`. */
  data?: string
}

/** Calls mount(2) in the mount namespace of this thread. */
export function mountFilesystem(request: MountRequest): void {
  const { source, target, type, flags, data } = request
  checked(mount()(source, target, type, flags, data ?? null), 'mount', target)
}

/** Like `mountFilesystem`, but on a pool thread, since a log replay is slow. */
export async function mountFilesystemAsync(request: MountRequest): Promise<void> {
  const { source, target, type, flags, data } = request
  await checkedAsync('mount', (done) => mount().async(source, target, type, flags, data ?? null, done))
}

/**
 * Calls umount2(2). `UMOUNT.DETACH` detaches a busy mount lazily. EINVAL if `target` is no mount point. Pass a path that may not
 * be UTF-8 as bytes that end with a zero.
 */
export function unmount(target: string | Buffer, flags = 0): void {
  checked(umount2()(target, flags), 'umount2', String(target))
}

/** Detaches the mount at `target` lazily, even if it is busy. Succeeds if nothing is mounted there. */
export function unmountIfMounted(target: string): void {
  try {
    unmount(target, UMOUNT.DETACH)
  } catch (error) {
    if (!isErrno(error, 'EINVAL', 'ENOENT')) throw error
  }
}

/** Like `unmount`, but on a pool thread, since dirty data is written out first. */
export async function unmountAsync(target: string, flags = 0): Promise<void> {
  await checkedAsync('umount2', (done) => umount2().async(target, flags, done))
}

/** Clones the mount at `path` below `directoryFd` (or AT.FDCWD) as a detached mount's fd. `recursive` includes mounts below it. */
export function cloneMount(directoryFd: number, path: string, options: { recursive?: boolean } = {}): number {
  const flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT.EMPTY_PATH | (options.recursive === true ? AT.RECURSIVE : 0)
  return checked(openTree()(SYS_OPEN_TREE, directoryFd, path, flags), 'open_tree', path)
}

/** Attaches the detached mount `mountFd` at `path`. */
export function attachMountAt(mountFd: number, path: string): void {
  checked(moveMount()(SYS_MOVE_MOUNT, mountFd, '', AT.FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), 'move_mount', path)
}

/** Moves the mount `mountFd`, attached or not, onto the directory behind `directoryFd`, without a path walk. */
export function attachMountTo(mountFd: number, directoryFd: number): void {
  const flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
  checked(moveMount()(SYS_MOVE_MOUNT, mountFd, '', directoryFd, '', flags), 'move_mount')
}

/**
 * Calls pivot_root(2), which makes the mount at `path` the root of this mount namespace. It also moves all its processes whose root or
 * working directory was the old root. The old root is then mounted at `oldPath`.
 */
export function pivotRoot(path: string, oldPath: string): void {
  checked(pivot()(path, oldPath), 'pivot_root', path)
}

export interface MountAttributes {
  /** Sum of `MOUNT_ATTR` bits to set. */
  set?: number
  clear?: number
  /** User namespace whose id maps apply to the mount (idmapped mount). */
  userNamespaceFd?: number
  /** Makes propagation private. */
  isPrivate?: boolean
  recursive?: boolean
}

/** Calls mount_setattr(2) on a detached mount: flags, propagation and id mapping. */
export function setMountAttributes(mountFd: number, attributes: MountAttributes): void {
  const { set = 0, clear = 0, userNamespaceFd, isPrivate = false, recursive = false } = attributes
  const argument = Buffer.alloc(MOUNT_ATTR_SIZE)
  argument.writeBigUInt64LE(BigInt(userNamespaceFd === undefined ? set : set | MOUNT_ATTR.IDMAP), 0)
  argument.writeBigUInt64LE(BigInt(clear), 8)
  argument.writeBigUInt64LE(BigInt(isPrivate ? MS.PRIVATE : 0), 16)
  argument.writeBigUInt64LE(BigInt(userNamespaceFd ?? 0), 24)
  const flags = AT.EMPTY_PATH | (recursive ? AT.RECURSIVE : 0)
  const result = mountSetattr()(SYS_MOUNT_SETATTR, mountFd, '', flags, argument, MOUNT_ATTR_SIZE)
  checked(result, 'mount_setattr')
}

/** Sets an option of the filesystem behind `mountFd`, the root of a mount, by fspick(2) and fsconfig(2). Its other options stay. */
export function setFilesystemOption(mountFd: number, name: string, value: string): void {
  const fd = checked(filesystemCall()(SYS_FSPICK, mountFd, '', FSPICK_CLOEXEC | FSPICK_EMPTY_PATH), 'fspick')
  try {
    checked(configure()(SYS_FSCONFIG, fd, FSCONFIG_SET_STRING, name, value, 0), 'fsconfig', name)
    checked(configure()(SYS_FSCONFIG, fd, FSCONFIG_CMD_RECONFIGURE, null, null, 0), 'fsconfig')
  } finally {
    closeFd(fd)
  }
}

/** Flags of mount(2). */
export const MS = {
  RDONLY: 1,
  NOSUID: 2,
  NODEV: 4,
  NOEXEC: 8,
  REMOUNT: 32,
  NOATIME: 1024,
  BIND: 4096,
  MOVE: 8192,
  REC: 16384,
  UNBINDABLE: 1 << 17,
  PRIVATE: 1 << 18,
  SLAVE: 1 << 19,
  SHARED: 1 << 20,
} as const

/** Flags of umount2(2). */
export const UMOUNT = { FORCE: 1, DETACH: 2, EXPIRE: 4, NOFOLLOW: 8 } as const

/** Attributes of mount_setattr(2). */
export const MOUNT_ATTR = { RDONLY: 1, NOSUID: 2, NODEV: 4, NOEXEC: 8, NOATIME: 0x10, IDMAP: 0x100000 } as const

/** Starting points and flags of the `…at` calls. */
export const AT = {
  FDCWD: -100,
  SYMLINK_NOFOLLOW: 0x100,
  REMOVEDIR: 0x200,
  SYMLINK_FOLLOW: 0x400,
  EMPTY_PATH: 0x1000,
  RECURSIVE: 0x8000,
} as const

const SYS_OPEN_TREE = 428
const SYS_MOVE_MOUNT = 429
const SYS_MOUNT_SETATTR = 442
const SYS_FSCONFIG = 431
const SYS_FSPICK = 433
const FSPICK_CLOEXEC = 1
const FSPICK_EMPTY_PATH = 8
const FSCONFIG_SET_STRING = 1
const FSCONFIG_CMD_RECONFIGURE = 7
const OPEN_TREE_CLONE = 1
const OPEN_TREE_CLOEXEC = 0o2000000
const MOVE_MOUNT_F_EMPTY_PATH = 4
const MOVE_MOUNT_T_EMPTY_PATH = 0x40
const MOUNT_ATTR_SIZE = 32

type Text = string | null

const mount = lazyNative<(source: Text, target: string, type: Text, flags: number, data: Text) => number>(
  null,
  'mount',
  {
    result: 'int',
    args: ['str', 'str', 'str', 'ulong', 'str'],
  },
)
const umount2 = lazyNative<(target: string | Buffer, flags: number) => number>(null, 'umount2', {
  result: 'int',
  args: ['str', 'int'],
})
const pivot = lazyNative<(path: string, oldPath: string) => number>(null, 'pivot_root', {
  result: 'int',
  args: ['str', 'str'],
})
const openTree = lazyNative<(call: number, fd: number, path: string, flags: number) => number>(null, 'syscall', {
  result: 'long',
  args: ['long', 'int', 'str', 'uint'],
})
const moveMount = lazyNative<
  (call: number, fromFd: number, fromPath: string, toFd: number, toPath: string, flags: number) => number
>(null, 'syscall', { result: 'long', args: ['long', 'int', 'str', 'int', 'str', 'uint'] })
const mountSetattr = lazyNative<
  (call: number, fd: number, path: string, flags: number, argument: Buffer, size: number) => number
>(null, 'syscall', { result: 'long', args: ['long', 'int', 'str', 'uint', 'void *', 'ulong'] })
const filesystemCall = lazyNative<(call: number, fd: number, path: string, flags: number) => number>(null, 'syscall', {
  result: 'long',
  args: ['long', 'int', 'str', 'uint'],
})
const configure = lazyNative<
  (call: number, fd: number, command: number, name: Text, value: Text, aux: number) => number
>(null, 'syscall', { result: 'long', args: ['long', 'int', 'uint', 'str', 'str', 'int'] })
