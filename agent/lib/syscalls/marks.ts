import { checked, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

/** A moment: whole seconds since the epoch, and nanoseconds after those. */
export interface FileTime {
  seconds: number
  nanoseconds: number
}

/** Sets when what `fd` is open on, also as a path only and also a link, was last modified. */
export function setModified(fd: number, { seconds, nanoseconds }: FileTime): void {
  TIMES.writeBigInt64LE(UTIME_OMIT, 8)
  TIMES.writeBigInt64LE(BigInt(seconds), 16)
  TIMES.writeBigInt64LE(BigInt(nanoseconds), 24)
  checked(utimensat()(fd, '', TIMES, AT.EMPTY_PATH), 'utimensat')
}

/** As `changeOwner` of what is open as a path only, also a link. */
export function changeOwnerOfPath(fd: number, uid: number, gid: number): void {
  checked(fchownat()(fd, '', uid, gid, AT.EMPTY_PATH), 'fchownat')
}

/** Makes a FIFO or a socket `name`, a text or bytes that end with a zero, in `directoryFd`: `mode` has its kind. */
export function makeNodeAt(directoryFd: number, name: string | Buffer, mode: number): void {
  checked(mknodat()(directoryFd, name, mode, 0), 'mknodat', name)
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
const mknodat = lazyNative<(fd: number, name: string | Buffer, mode: number, device: number) => number>(
  null,
  'mknodat',
  { result: 'int', args: ['int', 'str', 'uint', 'ulong'] },
)
