import { checked, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

/** What statx(2) tells of a file; ids are those of the host, times since the epoch. */
export interface FileStat {
  /** Kind and permissions, as `st_mode`. */
  mode: number
  uid: number
  gid: number
  inode: number
  /** How many names it has. */
  links: number
  sizeBytes: number
  modifiedSeconds: number
  modifiedNanoseconds: number
  changedSeconds: number
  changedNanoseconds: number
  /** Of its filesystem; with btrfs of its subvolume, and another after each mount. */
  device: number
  /** The id of its mount, as the first number of a line of `mountinfo`. */
  mountId: number
  isMountRoot: boolean
}

/** Of what `fd` is open on. */
export function statFd(fd: number): FileStat {
  return readStat(fd, '', AT.EMPTY_PATH)
}

/** Of `name`, a text or bytes that end with a zero, in `directoryFd`; of a link itself. */
export function statAt(directoryFd: number, name: string | Buffer): FileStat {
  return readStat(directoryFd, name, AT.SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)
}

/** What the link that `fd` is open on (`O.PATH | O.NOFOLLOW`) says, at most 4,095 bytes. */
export function readLinkFd(fd: number): Uint8Array {
  return readLinkAt(fd, '')
}

/** What the link `name` in `directoryFd` says; EINVAL if it is none. */
export function readLinkAt(directoryFd: number, name: string | Buffer): Uint8Array {
  const length = checked(readlinkat()(directoryFd, name, LINK, LINK.length), 'readlinkat', name)
  // A copy of its own: to send a part of a larger buffer to another thread would be to send all of it.
  return new Uint8Array(LINK.subarray(0, length))
}

/** A filesystem, by its magic number, and whether this mount of it is read-only. */
export interface DiskFacts {
  magic: number
  isReadOnly: boolean
}

/** Of the filesystem that the file of `fd` is on. */
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

// Without a BigInt, of which 10,000 files would need 60,000.
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
// The basic facts, and the mount's id.
const STATX_MASK = 0x17ff
const STATX_ATTR_MOUNT_ROOT = 0x2000
const STATFS_FLAGS_OFFSET = 80
const ST_RDONLY = 1

// What each call fills and the next lines read: a thread makes one call at a time.
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
