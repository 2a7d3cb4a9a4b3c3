import { CLONE } from './descriptors.ts'
import { checked, lazyNative, SyscallError } from './libc.ts'

/** Unshares the root, working directory and umask of this thread, which setns(2) into a mount namespace requires. */
export function unshareRoot(): void {
  checked(unshare()(CLONE.FS), 'unshare')
}

/** Like `unshareRoot`, and also gives this thread a mount namespace of its own, with a copy of every mount. */
export function unshareMounts(): void {
  checked(unshare()(CLONE.NEWNS), 'unshare')
}

/** Sets the umask of this thread, or of the whole process unless the thread called `unshareRoot`. */
export function setUmask(mask: number): void {
  umask()(mask)
}

/** Sets the working directory, with the scope of `setUmask`. */
export function enterDirectory(fd: number): void {
  checked(fchdir()(fd), 'fchdir')
}

/** Makes this thread and its children keep their capabilities when they change their user. */
export function keepCapabilities(): void {
  checked(prctl()(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0), 'prctl')
}

/** Sets the filesystem user and group of this thread, which then creates and accesses files as `id`. */
export function setFileOwner(id: number): void {
  setfsgid()(id)
  setfsuid()(id)
  // Neither call reports a failure. Only the value that the next call returns shows it.
  if (setfsgid()(INVALID_ID) >>> 0 !== id || setfsuid()(INVALID_ID) >>> 0 !== id)
    throw new SyscallError('setfsuid', EPERM)
}

const EPERM = 1
const INVALID_ID = -1
const PR_SET_SECUREBITS = 28
const SECBIT_NO_SETUID_FIXUP = 4

const unshare = lazyNative<(flags: number) => number>(null, 'unshare', { result: 'int', args: ['int'] })
const umask = lazyNative<(mask: number) => number>(null, 'umask', { result: 'uint', args: ['uint'] })
const fchdir = lazyNative<(fd: number) => number>(null, 'fchdir', { result: 'int', args: ['int'] })
const prctl = lazyNative<(option: number, a: number, b: number, c: number, d: number) => number>(null, 'prctl', {
  result: 'int',
  args: ['int', 'ulong', 'ulong', 'ulong', 'ulong'],
})
const setfsuid = lazyNative<(id: number) => number>(null, 'setfsuid', { result: 'int', args: ['int'] })
const setfsgid = lazyNative<(id: number) => number>(null, 'setfsgid', { result: 'int', args: ['int'] })
