import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { closeFd } from './descriptors.ts'
import { addressOf, checked, checkedAsync, isErrno, lazyNative } from './libc.ts'

/** A listening unix socket whose name has been unlinked. */
export interface NamelessListener {
  /** Non-blocking listener for `acceptNow`. */
  listenFd: number
  /** O_PATH descriptor of the socket. A process that holds it as its descriptor N connects to `/proc/self/fd/N`. */
  doorFd: number
}

/** Opens a non-blocking, close-on-exec socket in the current network namespace of this thread, where it stays. */
export function openSocket(domain: number, type: number): number {
  return checked(socket()(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), 'socket')
}

/** Opens a unix socket in the current network namespace of this thread, without a name. */
export function openUnixSocket(): number {
  return openSocket(AF_UNIX, SOCK_STREAM)
}

/** Makes a socket that has a name accept connections. At most `backlog` wait to be accepted. */
export function startListening(fd: number, backlog: number): void {
  checked(listen()(fd, backlog), 'listen')
}

/** Returns the user, by its id on the host, of the process that connected a unix socket to this one. */
export function peerUserOf(fd: number): number {
  const credentials = Buffer.alloc(12)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(credentials.length, 0)
  checked(getsockopt()(fd, SOL_SOCKET, SO_PEERCRED, credentials, size), 'getsockopt')
  return credentials.readUInt32LE(4)
}

/** Opens a listener with a backlog of 1, under a temporary name in `directory`. Both descriptors are close-on-exec. */
export function openNamelessListener(directory: string): NamelessListener {
  const directoryFd = openSync(directory, O_PATH | constants.O_DIRECTORY)
  // A path through the descriptor stays below the 107 bytes that a socket address may have.
  const path = `/proc/self/fd/${directoryFd}/${randomUUID()}`
  let listenFd: number | null = null
  try {
    listenFd = openUnixSocket()
    const address = addressTo(path)
    checked(bind()(listenFd, address, address.length), 'bind')
    try {
      startListening(listenFd, 1)
      return { listenFd, doorFd: openSync(path, O_PATH | constants.O_NOFOLLOW) }
    } finally {
      unlinkSync(path)
    }
  } catch (error) {
    if (listenFd !== null) closeFd(listenFd)
    throw error
  } finally {
    closeSync(directoryFd)
  }
}

/** Accepts a pending connection, close-on-exec and non-blocking. Returns null if there is none. */
export function acceptNow(listenFd: number): number | null {
  try {
    return checked(accept4()(listenFd, null, null, SOCK_CLOEXEC | SOCK_NONBLOCK), 'accept4')
  } catch (error) {
    if (isErrno(error, 'EAGAIN', 'ECONNABORTED')) return null
    throw error
  }
}

/**
 * Accepts as `acceptNow`, but off the main thread, for a listener that others hold as well and can make block. `stopListening` ends that.
 * Close the listener only after it.
 */
export async function acceptApart(listenFd: number): Promise<number | null> {
  try {
    return await checkedAsync('accept4', (done) =>
      accept4().async(listenFd, null, null, SOCK_CLOEXEC | SOCK_NONBLOCK, done),
    )
  } catch (error) {
    if (isErrno(error, 'EAGAIN', 'ECONNABORTED')) return null
    throw error
  }
}

/** Makes a listener refuse connections, and wakes the calls that wait in `acceptApart`. */
export function stopListening(listenFd: number): void {
  shutdown()(listenFd, SHUT_RDWR)
}

/**
 * Receives the descriptors of the next message, close-on-exec and at most two (the kernel drops more), and drops its bytes, at most
 * one. Returns none if no message is pending or the peer is gone.
 */
export function receiveFds(socketFd: number): number[] {
  const memory = Buffer.alloc(MEMORY_BYTES)
  const base = addressOf(memory)
  memory.writeBigUInt64LE(base + BigInt(VECTOR_AT), HEADER_VECTOR)
  memory.writeBigUInt64LE(1n, HEADER_VECTORS)
  memory.writeBigUInt64LE(base + BigInt(CONTROL_AT), HEADER_CONTROL)
  memory.writeBigUInt64LE(BigInt(CONTROL_BYTES), HEADER_CONTROL_SIZE)
  memory.writeBigUInt64LE(base + BigInt(DATA_AT), VECTOR_AT)
  memory.writeBigUInt64LE(1n, VECTOR_AT + 8)
  try {
    checked(recvmsg()(socketFd, memory, MSG_CMSG_CLOEXEC | MSG_DONTWAIT), 'recvmsg')
  } catch (error) {
    if (isErrno(error, 'EAGAIN', 'ECONNRESET')) return []
    throw error
  }
  const size = Number(memory.readBigUInt64LE(HEADER_CONTROL_SIZE))
  return descriptorsIn(memory.subarray(CONTROL_AT, CONTROL_AT + size))
}

/**
 * Sends a datagram to a unix socket, at a path or, with a leading `@`, at an abstract name. Does not wait, but throws EAGAIN where the
 * receiver's queue is full.
 */
export function sendDatagram(address: string, message: string): void {
  const bytes = Buffer.from(message)
  const isAbstract = address.startsWith('@')
  // Abstract names end with the address, and the others with a NUL.
  const target = addressTo(isAbstract ? `\0${address.slice(1)}` : address)
  const size = isAbstract ? target.length - 1 : target.length
  const fd = openSocket(AF_UNIX, SOCK_DGRAM)
  try {
    checked(sendto()(fd, bytes, bytes.length, MSG_NOSIGNAL, target, size), 'sendto')
  } finally {
    closeFd(fd)
  }
}

function descriptorsIn(control: Buffer): number[] {
  if (control.length < CONTROL_HEADER_BYTES) return []
  const isRights = control.readInt32LE(8) === SOL_SOCKET && control.readInt32LE(12) === SCM_RIGHTS
  const count = (Number(control.readBigUInt64LE(0)) - CONTROL_HEADER_BYTES) / 4
  return isRights ? Array.from({ length: count }, (_, at) => control.readInt32LE(CONTROL_HEADER_BYTES + at * 4)) : []
}

function addressTo(path: string): Buffer {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1)
  address.writeUInt16LE(AF_UNIX, 0)
  address.write(path, 2)
  return address
}

/** Socket types and levels, of socket(2) and setsockopt(2). */
export const SOCK_STREAM = 1
export const SOL_SOCKET = 1
const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const SCM_RIGHTS = 1
const SO_PEERCRED = 17
const SHUT_RDWR = 2
const MSG_DONTWAIT = 0x40
const MSG_NOSIGNAL = 0x4000
const MSG_CMSG_CLOEXEC = 0x40000000
const O_PATH = 0o10000000
/** struct msghdr, then struct iovec, then the buffers that they point to, in one allocation that V8 does not move. */
const HEADER_VECTOR = 16
const HEADER_VECTORS = 24
const HEADER_CONTROL = 32
const HEADER_CONTROL_SIZE = 40
const VECTOR_AT = 64
const DATA_AT = 80
const CONTROL_AT = 96
const CONTROL_BYTES = 24
const CONTROL_HEADER_BYTES = 16
const MEMORY_BYTES = 256

const socket = lazyNative<(domain: number, type: number, protocol: number) => number>(null, 'socket', {
  result: 'int',
  args: ['int', 'int', 'int'],
})
const bind = lazyNative<(fd: number, address: Buffer, size: number) => number>(null, 'bind', {
  result: 'int',
  args: ['int', 'void *', 'uint'],
})
const listen = lazyNative<(fd: number, backlog: number) => number>(null, 'listen', {
  result: 'int',
  args: ['int', 'int'],
})
const shutdown = lazyNative<(fd: number, how: number) => number>(null, 'shutdown', {
  result: 'int',
  args: ['int', 'int'],
})
const getsockopt = lazyNative<(fd: number, level: number, option: number, value: Buffer, size: Buffer) => number>(
  null,
  'getsockopt',
  { result: 'int', args: ['int', 'int', 'int', 'void *', 'void *'] },
)
const accept4 = lazyNative<(fd: number, address: null, size: null, flags: number) => number>(null, 'accept4', {
  result: 'int',
  args: ['int', 'void *', 'void *', 'int'],
})
const sendto = lazyNative<
  (fd: number, message: Buffer, size: number, flags: number, address: Buffer, addressSize: number) => number
>(null, 'sendto', { result: 'long', args: ['int', 'void *', 'ulong', 'int', 'void *', 'uint'] })
const recvmsg = lazyNative<(fd: number, message: Buffer, flags: number) => number>(null, 'recvmsg', {
  result: 'long',
  args: ['int', 'void *', 'int'],
})
