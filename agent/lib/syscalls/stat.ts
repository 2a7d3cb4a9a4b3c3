import { checked, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

/** File details of statx(2). Ids are the host's, times are since the epoch. */
export interface FileStat {
  /** File type and permissions, as `st_mode`. */
  mode: number
  uid: number
  gid: number
  inode: number
  /** Number of hard links. */
  links: number
  sizeBytes: number
  modifiedSeconds: number
  modifiedNanoseconds: number
  changedSeconds: number
  changedNanoseconds: number
  /** Device number of the filesystem. On btrfs it is the subvolume's number, which changes with each mount. */
  device: number
  /** Id of its mount, as in the first field of a `mountinfo` line. */
  mountId: number
  isMountRoot: boolean
}

/** Stats the file behind `fd`. */
export function statFd(fd: number): FileStat {
  return readStat(fd, '', AT.EMPTY_PATH)
}

/** Stats `name`, a string or bytes that end with a zero, in `directoryFd`, without following a symlink. */
export function statAt(directoryFd: number, name: string | Buffer): FileStat {
  return readStat(directoryFd, name, AT.SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)
}

/** Reads the target of the symlink behind `fd` (`O.PATH | O.NOFOLLOW`), at most 4,095 bytes. */
export function readLinkFd(fd: number): Uint8Array {
  return readLinkAt(fd, '')
}

/** Reads the target of the symlink `name` in `directoryFd`. EINVAL if it is not a symlink. */
export function readLinkAt(directoryFd: number, name: string | Buffer): Uint8Array {
  const length = checked(readlinkat()(directoryFd, name, LINK, LINK.length), 'readlinkat', name)
  // Copied, since posting a view of a larger buffer to another thread sends the whole buffer.
  return new Uint8Array(LINK.subarray(0, length))
}

/** Magic number of a filesystem, and the read-only flag of this mount of it. */
export interface DiskFacts {
  magic: number
  isReadOnly: boolean
}

/** Returns the details of the filesystem of `fd`. */
export function diskOf(fd: number): DiskFacts {
  checked(fstatfs()(fd, STATFS), 'fstatfs')
  return {
    magic: STATFS.readUInt32LE(0),
    isReadOnly: (STATFS.readUInt32LE(STATFS_FLAGS_OFFSET) & ST_RDONLY) !== 0,
  }
}

function readStat(fd: number, name: string | Buffer, flags: number): FileStat {
  checked(statx()(fd, name, flags, STATX_MASK, STATX), 'statx', name)
  return {
    mode: word(28) & 0xffff,
    links: word(16),
    uid: word(20),
    gid: word(24),
    inode: long(32),
    sizeBytes: long(40),
    modifiedSeconds: long(112),
    modifiedNanoseconds: word(120),
    changedSeconds: long(96),
    changedNanoseconds: word(104),
    device: word(136) * 2 ** 20 + word(140),
    mountId: long(144),
    isMountRoot: (word(8) & STATX_ATTR_MOUNT_ROOT) !== 0,
  }
}

function word(offset: number): number {
  return STATX_WORDS[offset >> 2] ?? 0
}

// Avoids BigInt: a listing of 10,000 files would allocate 60,000 of them.
function long(offset: number): number {
  return word(offset) + (word(offset + 4) | 0) * 2 ** 32
}

/** Magic numbers of filesystems. */
export const DISK = {
  BTRFS: 0x9123683e,
  TMPFS: 0x01021994,
  EXT4: 0xef53,
  XFS: 0x58465342,
  OVERLAY: 0x794c7630,
} as const

const AT_NO_AUTOMOUNT = 0x800
// STATX_BASIC_STATS and STATX_MNT_ID.
const STATX_MASK = 0x17ff
const STATX_ATTR_MOUNT_ROOT = 0x2000
const STATFS_FLAGS_OFFSET = 80
const ST_RDONLY = 1

// Shared by all calls and read before the next, since a thread makes one at a time.
const STATX = Buffer.from(new ArrayBuffer(256))
const STATX_WORDS = new Uint32Array(STATX.buffer)
const STATFS = Buffer.alloc(120)
const LINK = Buffer.alloc(4096)

const statx = lazyNative<(fd: number, path: string | Buffer, flags: number, mask: number, facts: Buffer) => number>(
  null,
  'statx',
  { result: 'int', args: ['int', 'str', 'int', 'uint', 'void *'] },
)
const readlinkat = lazyNative<(fd: number, path: string | Buffer, target: Buffer, size: number) => number>(
  null,
  'readlinkat',
  { result: 'long', args: ['int', 'str', 'void *', 'ulong'] },
)
const fstatfs = lazyNative<(fd: number, facts: Buffer) => number>(null, 'fstatfs', {
  result: 'int',
  args: ['int', 'void *'],
})
