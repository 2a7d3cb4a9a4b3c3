import { checked, checkedAsync, lazyNative } from './libc.ts'

/** Closes a raw descriptor. Every descriptor that this library opens is close-on-exec. */
export function closeFd(fd: number): void {
  checked(close()(fd), 'close')
}

/** Opens a pipe. Both ends are close-on-exec. */
export function openPipe(): { readFd: number; writeFd: number } {
  const fds = Buffer.alloc(8)
  checked(pipe2()(fds, O_CLOEXEC), 'pipe2')
  return { readFd: fds.readInt32LE(0), writeFd: fds.readInt32LE(4) }
}

/** Sets the capacity of a pipe, at most 1 MiB, so that its ends wait less for one another. A refusal by the host is ignored. */
export function widenPipe(fd: number, bytes: number): void {
  fcntl()(fd, F_SETPIPE_SZ, bytes)
}

/** Returns a close-on-exec duplicate of `fd`, numbered `minFd` or higher. */
export function duplicateFd(fd: number, minFd = 3): number {
  return checked(fcntl()(fd, F_DUPFD_CLOEXEC, minFd), 'fcntl')
}

/** Changes owner and group of the file behind `fd`. */
export function changeOwner(fd: number, uid: number, gid: number): void {
  checked(fchown()(fd, uid, gid), 'fchown')
}

/** Syncs the whole filesystem of `fd` to disk, off the main thread. */
export function syncFilesystem(fd: number): Promise<number> {
  return checkedAsync('syncfs', (done) => syncfs().async(fd, done))
}

/** Takes or drops an flock(2) lock of the open file without waiting. Returns false if another open file holds it. */
export function lockFile(fd: number, kind: 'exclusive' | 'shared' | 'unlock'): boolean {
  const result = flock()(fd, LOCK_KINDS[kind] | LOCK_NB)
  try {
    checked(result, 'flock')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
    throw error
  }
}

/** Allocates disk blocks for `length` bytes from `offset`, growing the file. ENOSPC if there are none. Off the main thread. */
export function allocateFile(fd: number, offset: number, length: number): Promise<number> {
  return checkedAsync('fallocate', (done) => fallocate().async(fd, 0, offset, length, done))
}

/** Like `allocateFile`, but synchronous. Use it for a few MiB. */
export function allocateFileNow(fd: number, offset: number, length: number): void {
  checked(fallocate()(fd, 0, offset, length), 'fallocate')
}

/** Issues an ioctl whose argument is a structure that the kernel reads, writes or both. Returns the call's result. Blocks. */
export function controlBuffer(fd: number, request: number, argument: Buffer): number {
  return checked(ioctlBuffer()(fd, request, argument), 'ioctl', hex(request))
}

/** Like `controlBuffer`, but on a pool thread. Do not touch the buffer until it settles. */
export function controlBufferAsync(fd: number, request: number, argument: Buffer): Promise<number> {
  return checkedAsync('ioctl', (done) => ioctlBuffer().async(fd, request, argument, done))
}

/** Issues an ioctl whose argument is a number. */
export function controlNumber(fd: number, request: number, argument: number): number {
  return checked(ioctlNumber()(fd, request, argument), 'ioctl', hex(request))
}

/**
 * Moves only this thread into the namespace behind `fd`. `kind` 0 accepts any. Until the thread is back, make only synchronous calls: no
 * await, import or spawn. Start libuv's pool threads before, since they inherit the namespace of the thread that first needs them.
 */
export function enterNamespace(fd: number, kind: number): void {
  checked(setns()(fd, kind), 'setns')
}

/** Namespace kinds for setns(2), and flags of unshare(2). */
export const CLONE = {
  FS: 0x200,
  NEWNS: 0x20000,
  NEWCGROUP: 0x2000000,
  NEWUTS: 0x4000000,
  NEWIPC: 0x8000000,
  NEWUSER: 0x10000000,
  NEWPID: 0x20000000,
  NEWNET: 0x40000000,
} as const

function hex(request: number): string {
  return `0x${request.toString(16)}`
}

const O_CLOEXEC = 0o2000000
const F_DUPFD_CLOEXEC = 1030
const F_SETPIPE_SZ = 1031
const LOCK_NB = 4
const LOCK_KINDS = { shared: 1, exclusive: 2, unlock: 8 } as const

const close = lazyNative<(fd: number) => number>(null, 'close', { result: 'int', args: ['int'] })
const pipe2 = lazyNative<(fds: Buffer, flags: number) => number>(null, 'pipe2', {
  result: 'int',
  args: ['void *', 'int'],
})
const fcntl = lazyNative<(fd: number, command: number, value: number) => number>(null, 'fcntl', {
  result: 'int',
  args: ['int', 'int', 'long'],
})
const fchown = lazyNative<(fd: number, uid: number, gid: number) => number>(null, 'fchown', {
  result: 'int',
  args: ['int', 'uint', 'uint'],
})
const syncfs = lazyNative<(fd: number) => number>(null, 'syncfs', { result: 'int', args: ['int'] })
const flock = lazyNative<(fd: number, operation: number) => number>(null, 'flock', {
  result: 'int',
  args: ['int', 'int'],
})
const fallocate = lazyNative<(fd: number, mode: number, offset: number, length: number) => number>(null, 'fallocate', {
  result: 'int',
  args: ['int', 'int', 'int64', 'int64'],
})
const ioctlBuffer = lazyNative<(fd: number, request: number, argument: Buffer) => number>(null, 'ioctl', {
  result: 'int',
  args: ['int', 'ulong', 'void *'],
})
const ioctlNumber = lazyNative<(fd: number, request: number, argument: number) => number>(null, 'ioctl', {
  result: 'int',
  args: ['int', 'ulong', 'ulong'],
})
const setns = lazyNative<(fd: number, kind: number) => number>(null, 'setns', { result: 'int', args: ['int', 'int'] })
