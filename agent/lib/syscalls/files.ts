import { constants } from 'node:fs'
import { checked, checkedAsync, isErrno, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

export interface OpenRequest {
  /** Sum of `O` bits. O_CLOEXEC is added. */
  flags: number
  /** Permission bits of a new file (`O.CREAT`, `O.TMPFILE`). */
  mode?: number
  /** Sum of `RESOLVE` bits. */
  resolve?: number
}

/**
 * Opens `path` below `directoryFd` (or `AT.FDCWD`) with openat2(2). With `RESOLVE.IN_ROOT` no symlink leads out of it.
 * Makes up to 100 attempts if a rename races with it (EAGAIN). Pass a path that may not be UTF-8 as bytes that end with a zero.
 */
export function openBelow(directoryFd: number, path: string | Buffer, request: OpenRequest): number {
  // struct open_how has three 64-bit fields. Only their lower halves are used.
  OPEN_HOW.writeUInt32LE((request.flags | O.CLOEXEC) >>> 0, 0)
  OPEN_HOW.writeUInt32LE(request.mode ?? 0, 8)
  OPEN_HOW.writeUInt32LE(request.resolve ?? 0, 16)
  const open = (): number =>
    checked(openat2()(SYS_OPENAT2, directoryFd, path, OPEN_HOW, OPEN_HOW.length), 'openat2', path)
  return retried(open, 'EINTR', 'EAGAIN')
}

/** Returns the bytes of a path or name for a system call, with the final zero. `raw` holds them as latin1. */
export function rawBytesOf(raw: string): Buffer {
  return Buffer.from(`${raw}\0`, 'latin1')
}

/** Makes the directory `name`, a string or bytes that end with a zero, in `directoryFd`. */
export function makeDirectoryAt(directoryFd: number, name: string | Buffer, mode: number): void {
  checked(mkdirat()(directoryFd, name, mode), 'mkdirat', name)
}

/** Removes `name` from `directoryFd`: a file, or with `AT.REMOVEDIR` an empty directory. Names are as for `makeDirectoryAt`. */
export function removeAt(directoryFd: number, name: string | Buffer, flags = 0): void {
  checked(unlinkat()(directoryFd, name, flags), 'unlinkat', name)
}

/** Names are strings, or bytes that end with a zero. */
export interface RenameRequest {
  fromFd: number
  fromName: string | Buffer
  toFd: number
  toName: string | Buffer
  /** Sum of `RENAME` bits. */
  flags?: number
}

/** Renames with renameat2(2), optionally without replacing the target, or exchanging both. */
export function renameBetween(request: RenameRequest): void {
  const { fromFd, fromName, toFd, toName, flags = 0 } = request
  checked(renameat2()(fromFd, fromName, toFd, toName, flags), 'renameat2', toName)
}

/** Starts write-back of dirty pages in a range of a file without waiting for it (sync_file_range(2)). On a pool thread. */
export function startWriteBack(fd: number, offset: number, length: number): Promise<number> {
  return checkedAsync('sync_file_range', (done) =>
    syncFileRange().async(fd, offset, length, SYNC_FILE_RANGE_WRITE, done),
  )
}

/** The mount that a file is on. */
export interface FileMount {
  /** Id of its mount, as in the first field of a `mountinfo` line. */
  mountId: number
  /** True for the root of that mount, false for anything below it. */
  isMountRoot: boolean
}

/** Returns the mount of the file behind `fd`. */
export function readFileMount(fd: number): FileMount {
  const facts = Buffer.alloc(STATX_BYTES)
  checked(statx()(fd, '', AT.EMPTY_PATH, STATX_MNT_ID, facts), 'statx')
  return {
    mountId: Number(facts.readBigUInt64LE(STATX_MOUNT_OFFSET)),
    isMountRoot: (facts.readBigUInt64LE(STATX_ATTRIBUTES_OFFSET) & STATX_ATTR_MOUNT_ROOT) !== 0n,
  }
}

/** A kernel file handle, valid for `openHandle` on any mount of its filesystem. */
export interface FileHandle {
  bytes: Buffer
  mountId: number
}

/** Returns the handle of `path` below `directoryFd`. The path '' means the descriptor itself. */
export function fileHandle(directoryFd: number, path: string): FileHandle {
  const bytes = Buffer.alloc(HANDLE_HEADER_BYTES + HANDLE_MAX_BYTES)
  bytes.writeUInt32LE(HANDLE_MAX_BYTES, 0)
  const mountId = Buffer.alloc(4)
  checked(
    nameToHandleAt()(directoryFd, path, bytes, mountId, path === '' ? AT.EMPTY_PATH : 0),
    'name_to_handle_at',
    path,
  )
  const size = bytes.readUInt32LE(0)
  return { bytes: bytes.subarray(0, HANDLE_HEADER_BYTES + size), mountId: mountId.readInt32LE(0) }
}

/** Opens a handle on the mount of `mountFd`: the same file, with that mount's id mapping. ESTALE if it is gone. */
export function openHandle(mountFd: number, handle: FileHandle, flags: number): number {
  return checked(openByHandleAt()(mountFd, handle.bytes, flags | O.CLOEXEC), 'open_by_handle_at')
}

/** Reads into `buffer` at the descriptor's position. Returns 0 at the end. Retries on EINTR. */
export function readFd(fd: number, buffer: Buffer): number {
  return retried(() => checked(read()(fd, buffer, buffer.length), 'read'), 'EINTR')
}

/** Writes all of `buffer` at the descriptor's position. Retries on EINTR. */
export function writeFd(fd: number, buffer: Buffer): void {
  for (let done = 0; done < buffer.length; ) {
    const rest = buffer.subarray(done)
    done += retried(() => checked(write()(fd, rest, rest.length), 'write'), 'EINTR')
  }
}

function retried(call: () => number, ...codes: string[]): number {
  for (let attempt = 1; ; attempt++) {
    try {
      return call()
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isErrno(error, ...codes)) throw error
    }
  }
}

/** Flags of open(2) on this machine. */
export const O = {
  RDONLY: 0,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  NOCTTY: 0o400,
  TRUNC: 0o1000,
  APPEND: 0o2000,
  NONBLOCK: 0o4000,
  DIRECTORY: constants.O_DIRECTORY,
  NOFOLLOW: constants.O_NOFOLLOW,
  CLOEXEC: 0o2000000,
  PATH: 0o10000000,
  TMPFILE: 0o20000000 | constants.O_DIRECTORY,
} as const

/** Resolve flags of openat2(2). */
export const RESOLVE = { NO_XDEV: 1, NO_MAGICLINKS: 2, NO_SYMLINKS: 4, BENEATH: 8, IN_ROOT: 16 } as const

/** Flags of renameat2(2). */
export const RENAME = { NOREPLACE: 1, EXCHANGE: 2 } as const

const MAX_ATTEMPTS = 100
const SYS_OPENAT2 = 437
/** Shared by all calls, since a thread makes one at a time. */
const OPEN_HOW = Buffer.alloc(24)
const HANDLE_HEADER_BYTES = 8
const HANDLE_MAX_BYTES = 128
const STATX_BYTES = 256
const STATX_MNT_ID = 0x1000
const STATX_ATTRIBUTES_OFFSET = 8
const STATX_ATTR_MOUNT_ROOT = 0x2000n
const STATX_MOUNT_OFFSET = 144

const openat2 = lazyNative<(call: number, fd: number, path: string | Buffer, how: Buffer, size: number) => number>(
  null,
  'syscall',
  { result: 'long', args: ['long', 'int', 'str', 'void *', 'ulong'] },
)
const mkdirat = lazyNative<(fd: number, name: string | Buffer, mode: number) => number>(null, 'mkdirat', {
  result: 'int',
  args: ['int', 'str', 'uint'],
})
const unlinkat = lazyNative<(fd: number, name: string | Buffer, flags: number) => number>(null, 'unlinkat', {
  result: 'int',
  args: ['int', 'str', 'int'],
})
const renameat2 = lazyNative<
  (fromFd: number, fromName: string | Buffer, toFd: number, toName: string | Buffer, flags: number) => number
>(null, 'renameat2', { result: 'int', args: ['int', 'str', 'int', 'str', 'uint'] })
const statx = lazyNative<(fd: number, path: string, flags: number, mask: number, facts: Buffer) => number>(
  null,
  'statx',
  { result: 'int', args: ['int', 'str', 'int', 'uint', 'void *'] },
)
const nameToHandleAt = lazyNative<(fd: number, path: string, handle: Buffer, mountId: Buffer, flags: number) => number>(
  null,
  'name_to_handle_at',
  { result: 'int', args: ['int', 'str', 'void *', 'void *', 'int'] },
)
const openByHandleAt = lazyNative<(fd: number, handle: Buffer, flags: number) => number>(null, 'open_by_handle_at', {
  result: 'int',
  args: ['int', 'void *', 'int'],
})
const read = lazyNative<(fd: number, buffer: Buffer, size: number) => number>(null, 'read', {
  result: 'long',
  args: ['int', 'void *', 'ulong'],
})
const write = lazyNative<(fd: number, buffer: Buffer, size: number) => number>(null, 'write', {
  result: 'long',
  args: ['int', 'void *', 'ulong'],
})
const syncFileRange = lazyNative<(fd: number, offset: number, length: number, flags: number) => number>(
  null,
  'sync_file_range',
  { result: 'int', args: ['int', 'int64', 'int64', 'uint'] },
)
const SYNC_FILE_RANGE_WRITE = 2
