import { rawBytesOf } from './files.ts'
import { checked, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

/** A file time: whole seconds since the epoch, plus nanoseconds. */
export interface FileTime {
  seconds: number
  nanoseconds: number
}

/** Sets the modification time of an open file. `O_PATH` is enough, so it works on symlinks. */
export function setModified(fd: number, { seconds, nanoseconds }: FileTime): void {
  TIMES.writeBigInt64LE(UTIME_OMIT, 8)
  TIMES.writeBigInt64LE(BigInt(seconds), 16)
  TIMES.writeBigInt64LE(BigInt(nanoseconds), 24)
  checked(utimensat()(fd, '', TIMES, AT.EMPTY_PATH), 'utimensat')
}

/** Like `changeOwner`, but for a descriptor open with `O_PATH`, symlinks included. */
export function changeOwnerOfPath(fd: number, uid: number, gid: number): void {
  checked(fchownat()(fd, '', uid, gid, AT.EMPTY_PATH), 'fchownat')
}

/** Changes the mode of a file that is open with `O_PATH` and no symlink. */
export function changeModeOfPath(fd: number, mode: number): void {
  checked(chmod()(pathOf(fd), mode), 'chmod')
}

/** Makes a FIFO or socket `name`, a string or bytes that end with a zero, in `directoryFd`. `mode` includes the file type. */
export function makeNodeAt(directoryFd: number, name: string | Buffer, mode: number): void {
  checked(mknodat()(directoryFd, name, mode, 0), 'mknodat', name)
}

/** Lists the names of the extended attributes of a file that is open, also with `O_PATH`, and no symlink. */
export function listAttributes(fd: number): string[] {
  const length = checked(listxattr()(pathOf(fd), NAMES, NAMES.length), 'listxattr')
  return NAMES.toString('latin1', 0, length).split('\0').slice(0, -1)
}

/** Reads an attribute of at most 64 KiB. The buffer is valid until the next call. ENODATA if the file has no such attribute. */
export function readAttribute(fd: number, name: string): Buffer {
  return VALUE.subarray(0, checked(getxattr()(pathOf(fd), rawBytesOf(name), VALUE, VALUE.length), 'getxattr'))
}

export function writeAttribute(fd: number, name: string, value: Buffer): void {
  checked(setxattr()(pathOf(fd), rawBytesOf(name), value, value.length, 0), 'setxattr')
}

export function removeAttribute(fd: number, name: string): void {
  checked(removexattr()(pathOf(fd), rawBytesOf(name)), 'removexattr')
}

// The calls that take a descriptor refuse one with O_PATH. Without it a FIFO would block, and a file with a lease would refuse.
function pathOf(fd: number): string {
  return `/proc/self/fd/${fd}`
}

const UTIME_OMIT = 0x3ffffffen
const TIMES = Buffer.alloc(32)

const utimensat = lazyNative<(fd: number, path: string, times: Buffer, flags: number) => number>(null, 'utimensat', {
  result: 'int',
  args: ['int', 'str', 'void *', 'int'],
})
const fchownat = lazyNative<(fd: number, path: string, uid: number, gid: number, flags: number) => number>(
  null,
  'fchownat',
  { result: 'int', args: ['int', 'str', 'uint', 'uint', 'int'] },
)
const chmod = lazyNative<(path: string, mode: number) => number>(null, 'chmod', {
  result: 'int',
  args: ['str', 'uint'],
})
const mknodat = lazyNative<(fd: number, name: string | Buffer, mode: number, device: number) => number>(
  null,
  'mknodat',
  { result: 'int', args: ['int', 'str', 'uint', 'ulong'] },
)
// The kernel's maximum size. Shared, since a thread makes one call at a time.
const NAMES = Buffer.alloc(65_536)
const VALUE = Buffer.alloc(65_536)

const listxattr = lazyNative<(path: string, names: Buffer, size: number) => number>(null, 'listxattr', {
  result: 'long',
  args: ['str', 'void *', 'ulong'],
})
const getxattr = lazyNative<(path: string, name: Buffer, value: Buffer, size: number) => number>(null, 'getxattr', {
  result: 'long',
  args: ['str', 'str', 'void *', 'ulong'],
})
const setxattr = lazyNative<(path: string, name: Buffer, value: Buffer, size: number, flags: number) => number>(
  null,
  'setxattr',
  { result: 'int', args: ['str', 'str', 'void *', 'ulong', 'int'] },
)
const removexattr = lazyNative<(path: string, name: Buffer) => number>(null, 'removexattr', {
  result: 'int',
  args: ['str', 'str'],
})
