import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { ServiceError } from '../../../shared/errors.ts'
import { RESUME, refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { isErrno, SyscallError, watchWritable } from '../../lib/syscalls/libc.ts'
import { inNetworkNamespace } from '../../lib/syscalls/netlink.ts'
import { connectTcp, openTcpSocket, resetAtClose } from '../../lib/syscalls/tcp.ts'
import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { PortConnection } from '../../ports/boxes/port-connection.ts'
import type { BoxHandle, BoxHandles } from '../host/handle.ts'

/** Connections to ports of boxes, made inside of their network namespaces. */
export interface BoxPorts {
  /** As `Runtime.connect`. */
  connect(boxId: string, port: number): Promise<PortConnection>
  /** Closes the connections to a box whose processes have ended, because another box may get its network namespace. */
  cut(boxId: string): void
}

export interface BoxPortsDeps {
  handles(): Pick<BoxHandles, 'readRunning'>
  network: Pick<HostNetwork, 'addressOf'>
}

/** Creates the connections of running boxes. Connections of an earlier process ended with it. */
export function createBoxPorts({ handles, network }: BoxPortsDeps): BoxPorts {
  const open = new Map<string, Set<(error: ServiceError) => void>>()
  const requireSame = (boxId: string, pid: number | null): BoxHandle => {
    const box = handles().readRunning(boxId)
    if (box === null || (pid !== null && box.pid !== pid)) throw boxEnded()
    return box
  }
  /** Calls `onCut` when the box ends, until the returned function is called. */
  const register = (boxId: string, onCut: (error: ServiceError) => void): (() => void) => {
    const ofBox = open.get(boxId) ?? new Set()
    open.set(boxId, ofBox)
    ofBox.add(onCut)
    return () => {
      ofBox.delete(onCut)
      if (ofBox.size === 0 && open.get(boxId) === ofBox) open.delete(boxId)
    }
  }
  return {
    connect: async (boxId, port) => {
      const { pid } = requireSame(boxId, null)
      const own = await network.addressOf(boxId)
      const ending = new AbortController()
      const unregister = register(boxId, (error) => ending.abort(error))
      try {
        for (const address of own === null ? LOOPBACK : [...LOOPBACK, own]) {
          const fd = openInNetwork(requireSame(boxId, pid), () => openTcpSocket(address))
          if (!(await tryConnect(fd, { address, port, signal: ending.signal }))) continue
          const connection = portConnectionOf(fd)
          const { stream } = connection
          stream.once(
            'close',
            register(boxId, (error) => stream.destroy(error)),
          )
          return connection
        }
      } finally {
        unregister()
      }
      throw refusal('port_not_listening', [
        `Nothing listens at port ${port} of the box.`,
        'Start a server there, or name its port.',
      ])
    },
    cut: (boxId) => {
      for (const onCut of [...(open.get(boxId) ?? [])]) onCut(boxEnded())
    },
  }
}

/** Opens a socket in the network namespace of a box. @throws ServiceError `box_not_running` */
export function openInNetwork({ pid }: Pick<BoxHandle, 'pid'>, open: () => number): number {
  let namespace: number
  try {
    namespace = openSync(`/proc/${pid}/ns/net`, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH')) throw boxEnded()
    throw error
  }
  try {
    return inNetworkNamespace(namespace, open)
  } finally {
    closeSync(namespace)
  }
}

/** Returns false, with `fd` closed, if nothing listens there. Throws, also with `fd` closed, if there is no answer in time. */
async function tryConnect(fd: number, to: { address: string; port: number; signal: AbortSignal }): Promise<boolean> {
  const { address, port, signal } = to
  try {
    // Within one host the answer to the first call is there before the second.
    if (connectTcp(fd, address, port) || connectTcp(fd, address, port)) return true
    await untilWritable(fd, signal)
    if (connectTcp(fd, address, port)) return true
  } catch (error) {
    closeFd(fd)
    if (error instanceof SyscallError) return false
    throw error
  }
  closeFd(fd)
  throw new ServiceError('port_unreachable', `Port ${port} of the box refuses connections.`)
}

/** Resolves once a connection is made or refused, and after 5 s. Rejects with the reason of `signal`. */
async function untilWritable(fd: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve } = Promise.withResolvers<void>()
  const watch = watchWritable(fd, resolve)
  const timer = setTimeout(resolve, CONNECT_MS)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
  watch.close()
  signal.throwIfAborted()
}

/** Makes a connection of a connected socket, which it then owns. */
export function portConnectionOf(fd: number): PortConnection {
  let socket: Socket
  try {
    socket = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
  } catch (error) {
    closeFd(fd)
    throw error
  }
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  const reset = (): void => {
    if (socket.destroyed) return
    // `resetAndDestroy` waits until all written bytes are sent.
    resetAtClose(fd)
    socket.destroy()
  }
  return {
    stream: socket,
    reset,
    close: () => {
      if (socket.destroyed) return
      socket.destroySoon()
      const timer = setTimeout(reset, FLUSH_MS)
      socket.once('close', () => clearTimeout(timer))
    },
  }
}

function boxEnded(): ServiceError {
  return refusal('box_not_running', ['The box is not running.', RESUME])
}

const LOOPBACK = ['127.0.0.1', '::1']
const CONNECT_MS = 5_000
const FLUSH_MS = 10_000
