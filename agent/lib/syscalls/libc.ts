import os from 'node:os'
import type { KoffiFunc } from 'koffi'
import koffi from 'koffi'

/** A failed call into the kernel: `code` such as `ENOENT`, `errno` its positive number, `syscall` its name. */
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

/** An argument or result type of a C function, as koffi names it. */
export type NativeType = 'int' | 'uint' | 'long' | 'ulong' | 'int64' | 'uint64' | 'str' | 'void *' | 'void'

/** A native function, also callable off the main thread by `.async(…, callback)`. */
export type NativeFunction<T extends (...args: never[]) => unknown> = KoffiFunc<T>

/** A function that binds a native function of `library` (null: libc) at its first call and keeps it. */
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

/** Binds the functions of libc that this thread has declared, so that none is looked up where that might read files. */
export function bindLibc(): void {
  for (const bind of libcBinders) bind()
}

/**
 * The value, or a SyscallError from errno if it is negative; call it right after the native call. A subject that is bytes is
 * made a text only then.
 */
export function checked(result: number, syscall: string, subject?: string | Buffer): number {
  if (result < 0) throw new SyscallError(syscall, koffi.errno(), subject?.toString())
  return result
}

/** Settles a `.async` call as `checked` does; `start` passes the callback it is given as the last argument. */
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

/**
 * Whether `error` is a failed system call, ours or Node's, with one of these codes; also those Node has no name for
 * (EDQUOT).
 */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  // By its shape: an error from another realm (a worker, a test's sandbox) is no instance of this one's Error.
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  const isNameless = 'errno' in error && /^unknown/i.test(String(error.code))
  const code = isNameless ? ERROR_NAMES.get(-Number(error.errno)) : error.code
  return typeof code === 'string' && codes.includes(code)
}

/**
 * Calls `listener` whenever `fd` has something to read, from the event loop; needs no thread. Close it before the fd.
 */
export function watchReadable(fd: number, listener: () => void): { close(): void } {
  const handle = koffi.node.poll(fd, { readable: true, disconnect: true }, listener)
  return { close: () => handle.close() }
}

/**
 * Where the bytes of `buffer` (> 64 bytes, or V8 may move them) lie, to be put into a structure; valid while it is
 * referenced.
 */
export function addressOf(buffer: Buffer): bigint {
  return koffi.address(buffer)
}

const libcBinders: (() => unknown)[] = []
const ERROR_NAMES = new Map(
  Object.entries(os.constants.errno)
    .filter(([name]) => name !== 'EWOULDBLOCK' && name !== 'ENOTSUP')
    .map(([name, number]) => [number, name]),
)
