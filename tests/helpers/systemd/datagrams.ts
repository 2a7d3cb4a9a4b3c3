import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'
import { checked, isErrno, lazyNative } from '../../../agent/lib/syscalls/libc.ts'

/** A unix datagram socket, like a service manager's. */
export interface DatagramSocket {
  /** Returns the messages received since the last call. */
  receive(): string[]
  close(): void
}

/** Binds a datagram socket to a path, or to an abstract name after a leading `@`. */
export function bindDatagrams(address: string): DatagramSocket {
  const name = address.startsWith('@') ? `\0${address.slice(1)}` : `${address}\0`
  const bytes = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(name)])
  const fd = checked(socket()(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), 'socket')
  checked(bind()(fd, bytes, bytes.length), 'bind')
  const memory = Buffer.alloc(8_192)
  return {
    receive: () => {
      for (const messages: string[] = []; ; ) {
        try {
          const length = checked(recv()(fd, memory, memory.length, 0), 'recv')
          messages.push(memory.toString('utf8', 0, length))
        } catch (error) {
          if (isErrno(error, 'EAGAIN')) return messages
          throw error
        }
      }
    },
    close: () => closeFd(fd),
  }
}

const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const socket = lazyNative<(domain: number, type: number, protocol: number) => number>(null, 'socket', {
  result: 'int',
  args: ['int', 'int', 'int'],
})
const bind = lazyNative<(fd: number, address: Buffer, size: number) => number>(null, 'bind', {
  result: 'int',
  args: ['int', 'void *', 'uint'],
})
const recv = lazyNative<(fd: number, buffer: Buffer, size: number, flags: number) => number>(null, 'recv', {
  result: 'long',
  args: ['int', 'void *', 'ulong', 'int'],
})
