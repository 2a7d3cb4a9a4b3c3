import os from 'node:os'
import type { KoffiFunc } from 'koffi'
import koffi from 'koffi'

/** A failed system call: `code` such as `ENOENT`, `errno` its positive number, `syscall` its name. */
export class SyscallError extends Error {
  override readonly name = 'SyscallError'
  readonly code: string
  readonly errno: number
  readonly syscall: string

  constructor(syscall: string, errno: number, subject?: string) {
    const code = ERROR_NAMES.get(errno) ?? `E${errno}`
    super(`${code}: ${syscall}${subject === undefined ? '' : ` ${subject}`}`)
    this.code = code
    this.errno = errno
    this.syscall = syscall
  }
}

/** Argument or result type of a C function, in koffi's notation. */
export type NativeType = 'int' | 'uint' | 'long' | 'ulong' | 'int64' | 'uint64' | 'str' | 'void *' | 'void'

/** A native function, also callable off the main thread by `.async(…, callback)`. */
export type NativeFunction<T extends (...args: never[]) => unknown> = KoffiFunc<T>

/** Returns a function that binds `name` of `library` (null means libc) at its first call and caches it. */
export function lazyNative<T extends (...args: never[]) => unknown>(
  library: string | null,
  name: string,
  signature: { result: NativeType; args: NativeType[] },
): () => NativeFunction<T> {
  let bound: NativeFunction<T> | undefined
  const bind = (): NativeFunction<T> => {
    bound ??= koffi.load(library).func(name, signature.result, signature.args) as unknown as NativeFunction<T>
    return bound
  }
  if (library === null) libcBinders.push(bind)
  return bind
}

/** Binds all libc functions declared in this thread, so that none is looked up later where the lookup might read files. */
export function bindLibc(): void {
  for (const bind of libcBinders) bind()
}

/**
 * Returns `result`, or throws a SyscallError from errno if it is negative. Call it right after the native call. A subject in bytes is
 * decoded only for the error.
 */
export function checked(result: number, syscall: string, subject?: string | Buffer): number {
  if (result < 0) throw new SyscallError(syscall, koffi.errno(), subject?.toString())
  return result
}

/** Promisifies a `.async` call with the rule of `checked`. `start` passes `done` on as its last argument. */
export function checkedAsync(
  syscall: string,
  start: (done: (error: Error | null, result: number) => void) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error !== null) reject(error)
      else if (result < 0) reject(new SyscallError(syscall, koffi.errno()))
      else resolve(result)
    })
  })
}

/** Returns true if `error` is a failed system call, ours or Node's, with one of these codes. Also for codes Node cannot name (EDQUOT). */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  // Checks the shape, since an error from another realm (a worker, a test's sandbox) is not an instance of this realm's Error.
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  const isNameless = 'errno' in error && /^unknown/i.test(String(error.code))
  const code = isNameless ? ERROR_NAMES.get(-Number(error.errno)) : error.code
  return typeof code === 'string' && codes.includes(code)
}

/** Calls `listener` from the event loop while `fd` is readable. Needs no thread. Close it before the fd. */
export function watchReadable(fd: number, listener: () => void): { close(): void } {
  const handle = koffi.node.poll(fd, { readable: true, disconnect: true }, listener)
  return { close: () => handle.close() }
}

/** Calls `listener` from the event loop while `fd` is writable, or has failed. Needs no thread. Close it before the fd. */
export function watchWritable(fd: number, listener: () => void): { close(): void } {
  const handle = koffi.node.poll(fd, { writable: true, disconnect: true }, listener)
  return { close: () => handle.close() }
}

/** Returns the address of `buffer`'s bytes (> 64, or V8 may move them) for use in a structure. It is valid while `buffer` is referenced. */
export function addressOf(buffer: Buffer): bigint {
  return koffi.address(buffer)
}

const libcBinders: (() => unknown)[] = []
const ERROR_NAMES = new Map(
  Object.entries(os.constants.errno)
    .filter(([name]) => name !== 'EWOULDBLOCK' && name !== 'ENOTSUP')
    .map(([name, number]) => [number, name]),
)
