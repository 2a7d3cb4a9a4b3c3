import { CLONE } from './descriptors.ts'
import { checked, lazyNative, SyscallError } from './libc.ts'

/** Gives this thread a root, a working directory and a umask of its own, so that it may enter a mount namespace alone. */
export function unshareRoot(): void {
  checked(unshare()(CLONE.FS), 'unshare')
}

/** As `unshareRoot`, and a mount namespace of its own, with a copy of every mount. */
export function unshareMounts(): void {
  checked(unshare()(CLONE.NEWNS), 'unshare')
}

/** The umask of this thread; that of the whole process unless it has one of its own. */
export function setUmask(mask: number): void {
  umask()(mask)
}

/** The working directory, as `setUmask`. */
export function enterDirectory(fd: number): void {
  checked(fchdir()(fd), 'fchdir')
}

/** From now on this thread, and what it starts, keeps its capabilities when it changes its user. */
export function keepCapabilities(): void {
  checked(prctl()(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0), 'prctl')
}

/** This thread makes files as user and group `id` from now on. */
export function setFileOwner(id: number): void {
  setfsgid()(id)
  setfsuid()(id)
  // Neither tells of a failure but by what it is then asked.
  if (setfsgid()(NOBODY) >>> 0 !== id || setfsuid()(NOBODY) >>> 0 !== id) throw new SyscallError('setfsuid', EPERM)
}

const EPERM = 1
const NOBODY = -1
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
