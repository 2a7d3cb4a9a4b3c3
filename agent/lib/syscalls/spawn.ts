import { closeFd, duplicateFd } from './descriptors.ts'
import { addressOf, checkedAsync, lazyNative, SyscallError } from './libc.ts'

export interface ProgramStart {
  /** Absolute path. */
  path: string
  /** argv, the program's name first. */
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Descriptors of this process that become 0, 1, 2 and onwards. The child inherits no others. */
  stdio: readonly number[]
}

/**
 * Starts a program in a new session with posix_spawn(3) and resolves with its pid. Node's fork copies the page tables of this process,
 * which blocks it for 3 ms. This takes 0.5, off the main thread. It lasts until the child has got a CPU, which takes some milliseconds on
 * a busy host. Keep the descriptors open until it settles. The caller watches the pid and reaps the child.
 * @throws SyscallError such as ENOENT
 */
export async function startProgram({ path, args, env, stdio }: ProgramStart): Promise<number> {
  const actions = Buffer.alloc(OPAQUE_BYTES)
  const attributes = Buffer.alloc(OPAQUE_BYTES)
  const pid = Buffer.alloc(8)
  const argv = pointersTo(args)
  const envp = pointersTo(Object.entries(env).map(([name, value]) => `${name}=${value}`))
  const closers: (() => void)[] = []
  // Copies a descriptor below the last target, which would be overwritten before its turn.
  const outOfTheWay = (fd: number): number => {
    if (fd >= stdio.length) return fd
    const copy = duplicateFd(fd, stdio.length)
    closers.push(() => closeFd(copy))
    return copy
  }
  try {
    const sources = stdio.map(outOfTheWay)
    required(actionsInit()(actions))
    closers.push(() => actionsDestroy()(actions))
    required(attributesInit()(attributes))
    closers.push(() => attributesDestroy()(attributes))
    for (const [target, fd] of sources.entries()) required(actionsAddDup2()(actions, fd, target))
    required(attributesSetFlags()(attributes, SETSIGDEF | SETSIGMASK | SETSID))
    required(attributesSetSigDefault()(attributes, ALL_SIGNALS))
    required(attributesSetSigMask()(attributes, NO_SIGNALS))
    // The closure keeps the strings referenced during the call.
    const spawn = posixSpawn()
    const errno = await checkedAsync('posix_spawn', (done) =>
      spawn.async(pid, path, actions, attributes, argv.pointers, envp.pointers, done),
    )
    required(errno, path)
    return pid.readInt32LE(0)
  } finally {
    for (const close of closers.reverse()) close()
  }
}

/** Returns a list of C strings that ends with null, as argv is. Keep `texts` referenced, since the pointers do not keep them alive. */
export function pointersTo(texts: readonly string[]): { pointers: Buffer; texts: Buffer } {
  const encoded = texts.map((text) => Buffer.from(`${text}\0`))
  const bytes = Buffer.concat([...encoded, Buffer.alloc(UNMOVED_BYTES)])
  const pointers = Buffer.alloc(Math.max((texts.length + 1) * 8, UNMOVED_BYTES))
  let address = addressOf(bytes)
  for (const [index, { length }] of encoded.entries()) {
    pointers.writeBigUInt64LE(address, index * 8)
    address += BigInt(length)
  }
  return { pointers, texts: bytes }
}

// The posix_spawn functions return the error instead of setting errno.
function required(errno: number, subject?: string): void {
  if (errno !== 0) throw new SyscallError('posix_spawn', errno, subject)
}

const SETSIGDEF = 0x04
const SETSIGMASK = 0x08
const SETSID = 0x80
// Larger than the largest of these structures in glibc and musl (336 bytes).
const OPAQUE_BYTES = 512
const UNMOVED_BYTES = 128
const ALL_SIGNALS = Buffer.alloc(128, 0xff)
const NO_SIGNALS = Buffer.alloc(128)

const actionsInit = lazyNative<(actions: Buffer) => number>(null, 'posix_spawn_file_actions_init', {
  result: 'int',
  args: ['void *'],
})
const actionsDestroy = lazyNative<(actions: Buffer) => number>(null, 'posix_spawn_file_actions_destroy', {
  result: 'int',
  args: ['void *'],
})
const actionsAddDup2 = lazyNative<(actions: Buffer, fd: number, target: number) => number>(
  null,
  'posix_spawn_file_actions_adddup2',
  { result: 'int', args: ['void *', 'int', 'int'] },
)
const attributesInit = lazyNative<(attributes: Buffer) => number>(null, 'posix_spawnattr_init', {
  result: 'int',
  args: ['void *'],
})
const attributesDestroy = lazyNative<(attributes: Buffer) => number>(null, 'posix_spawnattr_destroy', {
  result: 'int',
  args: ['void *'],
})
const attributesSetFlags = lazyNative<(attributes: Buffer, flags: number) => number>(null, 'posix_spawnattr_setflags', {
  result: 'int',
  args: ['void *', 'int'],
})
const attributesSetSigDefault = lazyNative<(attributes: Buffer, signals: Buffer) => number>(
  null,
  'posix_spawnattr_setsigdefault',
  { result: 'int', args: ['void *', 'void *'] },
)
const attributesSetSigMask = lazyNative<(attributes: Buffer, signals: Buffer) => number>(
  null,
  'posix_spawnattr_setsigmask',
  { result: 'int', args: ['void *', 'void *'] },
)
const posixSpawn = lazyNative<
  (pid: Buffer, path: string, actions: Buffer, attributes: Buffer, argv: Buffer, envp: Buffer) => number
>(null, 'posix_spawn', { result: 'int', args: ['void *', 'str', 'void *', 'void *', 'void *', 'void *'] })
