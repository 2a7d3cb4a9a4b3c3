import { isIPv4 } from 'node:net'
import { closeFd } from './descriptors.ts'
import { checked, isErrno, lazyNative } from './libc.ts'
import { openSocket, SOCK_STREAM, SOL_SOCKET } from './sockets.ts'

/**
 * Opens a non-blocking, close-on-exec TCP socket in the current network namespace of this thread, where it stays. Its queues in the
 * kernel, which no box is charged for, have 256 KiB each and do not grow.
 */
export function openTcpSocket(address: string): number {
  const fd = openSocket(isIPv4(address) ? AF_INET : AF_INET6, SOCK_STREAM)
  try {
    const half = Buffer.alloc(4)
    half.writeInt32LE(QUEUE_BYTES / 2, 0)
    for (const option of [SO_RCVBUF, SO_SNDBUF])
      checked(setsockopt()(fd, SOL_SOCKET, option, half, half.length), 'setsockopt')
  } catch (error) {
    closeFd(fd)
    throw error
  }
  return fd
}

/**
 * Starts to connect a non-blocking socket, or checks the progress. Returns true once it is connected, false while it is under way.
 * @throws SyscallError such as `ECONNREFUSED`
 */
export function connectTcp(fd: number, address: string, port: number): boolean {
  const bytes = isIPv4(address) ? addressOfIpv4(address, port) : addressOfLoopback6(port)
  try {
    checked(connect()(fd, bytes, bytes.length), 'connect')
    return true
  } catch (error) {
    if (isErrno(error, 'EISCONN')) return true
    if (isErrno(error, 'EINPROGRESS', 'EALREADY', 'EINTR')) return false
    throw error
  }
}

/** Makes the close of a connected socket reset its connection at once, and drop what was not sent. */
export function resetAtClose(fd: number): void {
  const linger = Buffer.alloc(8)
  linger.writeInt32LE(1, 0)
  checked(setsockopt()(fd, SOL_SOCKET, SO_LINGER, linger, linger.length), 'setsockopt')
}

function addressOfIpv4(address: string, port: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt16LE(AF_INET, 0)
  bytes.writeUInt16BE(port, 2)
  for (const [index, part] of address.split('.').entries()) bytes[4 + index] = Number(part)
  return bytes
}

// The only address of IPv6 that is connected to.
function addressOfLoopback6(port: number): Buffer {
  const bytes = Buffer.alloc(28)
  bytes.writeUInt16LE(AF_INET6, 0)
  bytes.writeUInt16BE(port, 2)
  bytes[LAST_OF_ADDRESS6] = 1
  return bytes
}

const AF_INET = 2
const AF_INET6 = 10
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const SO_LINGER = 13
/** The kernel doubles what it is given. */
const QUEUE_BYTES = 256 * 1024
const LAST_OF_ADDRESS6 = 23

const connect = lazyNative<(fd: number, address: Buffer, size: number) => number>(null, 'connect', {
  result: 'int',
  args: ['int', 'void *', 'uint'],
})
const setsockopt = lazyNative<(fd: number, level: number, option: number, value: Buffer, size: number) => number>(
  null,
  'setsockopt',
  { result: 'int', args: ['int', 'int', 'int', 'void *', 'uint'] },
)
