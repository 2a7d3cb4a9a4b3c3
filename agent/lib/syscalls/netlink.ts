import { closeSync, openSync } from 'node:fs'
import { CLONE, closeFd, enterNamespace } from './descriptors.ts'
import { checked, checkedAsync, isErrno, lazyNative, SyscallError, watchReadable } from './libc.ts'
import {
  decodeAcks,
  decodeLinks,
  encodeMessages,
  listLinksRequest,
  messageTypes,
  type NetworkLink,
  type RouteMessage,
} from './rtnetlink.ts'

/** A NETLINK_ROUTE socket in one network namespace. Callers must not overlap `send` calls. */
export interface RouteSocket {
  /**
   * Executes `messages` in order on a pool thread, since the kernel may be busy with other interfaces. Throws a SyscallError for the
   * first refusal whose code is not in `ignored` (such as `ENODEV`). The messages after it were executed nevertheless.
   */
  send(messages: readonly RouteMessage[], ignored?: readonly string[]): Promise<void>
  close(): void
}

/** Opens a NETLINK_ROUTE socket in the current network namespace of this thread. */
export function openRouteSocket(): RouteSocket {
  const fd = checked(socket()(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), 'socket')
  return {
    async send(messages, ignored = []) {
      const bytes = encodeMessages(messages)
      await checkedAsync('send', (done) => send().async(fd, bytes, bytes.length, 0, done))
      const failure = readAnswers(fd, messages).find(({ code }) => !ignored.includes(code))
      if (failure) throw failure
    },
    close: () => closeFd(fd),
  }
}

/** Lists the interfaces of this thread's network namespace. */
export function listLinks(): NetworkLink[] {
  const fd = checked(socket()(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), 'socket')
  try {
    const request = encodeMessages([listLinksRequest()])
    checked(send()(fd, request, request.length, 0), 'send')
    const answer = Buffer.alloc(EVENT_BYTES)
    const links: NetworkLink[] = []
    for (let isLast = false; !isLast; ) {
      const part = decodeLinks(answer.subarray(0, checked(recv()(fd, answer, answer.length, MSG_DONTWAIT), 'recv')))
      links.push(...part.links)
      isLast = part.isLast
    }
    return links
  } finally {
    closeFd(fd)
  }
}

/**
 * Runs `work` with this thread inside the network namespace behind `namespaceFd`. `work` must be synchronous and must not start
 * processes or threads, which would stay there. Aborts this process if the thread cannot return.
 */
export function inNetworkNamespace<T>(namespaceFd: number, work: () => T): T {
  const home = openSync('/proc/thread-self/ns/net', 'r')
  try {
    enterNamespace(namespaceFd, CLONE.NEWNET)
    try {
      return work()
    } finally {
      returnHome(home)
    }
  } finally {
    closeSync(home)
  }
}

/**
 * Calls `listener` from the event loop when nftables tables of this network namespace were removed, or may have been because
 * events were lost.
 */
export function watchRemovedTables(listener: () => void): { close(): void } {
  const fd = checked(socket()(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER), 'socket')
  const messages = Buffer.alloc(EVENT_BYTES)
  try {
    const address = Buffer.alloc(12)
    address.writeUInt16LE(AF_NETLINK, 0)
    address.writeUInt32LE(1 << (NFNLGRP_NFTABLES - 1), 8)
    checked(bind()(fd, address, address.length), 'bind')
    const watch = watchReadable(fd, () => {
      if (drainEvents(fd, messages)) listener()
    })
    return {
      close: () => {
        watch.close()
        closeFd(fd)
      },
    }
  } catch (error) {
    closeFd(fd)
    throw error
  }
}

/** Opens a NETLINK_NETFILTER socket, and closes it. @throws SyscallError if that cannot be done, such as EMFILE */
export function checkNetfilterSocket(): void {
  closeFd(checked(socket()(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER), 'socket'))
}

/** Reads all pending events. Returns true if a table was or may have been removed. */
function drainEvents(fd: number, messages: Buffer): boolean {
  for (let isRemoval = false; ; ) {
    try {
      const size = checked(recv()(fd, messages, messages.length, MSG_DONTWAIT), 'recv')
      isRemoval ||= messageTypes(messages.subarray(0, size)).some((type) => TABLE_REMOVED.includes(type))
    } catch (error) {
      // Any other failure, such as ENOBUFS, may have lost a removal.
      return isRemoval || !isErrno(error, 'EAGAIN')
    }
  }
}

function returnHome(home: number): void {
  try {
    enterNamespace(home, CLONE.NEWNET)
  } catch {
    process.abort()
  }
}

// The kernel handles the request inside send(), so all answers are already queued.
function readAnswers(fd: number, messages: readonly RouteMessage[]): SyscallError[] {
  const answer = Buffer.alloc(ANSWER_BYTES)
  const failures: SyscallError[] = []
  for (let answered = 0; answered < messages.length; ) {
    const size = checked(recv()(fd, answer, answer.length, MSG_DONTWAIT), 'recv')
    const { count, refusals } = decodeAcks(answer.subarray(0, size))
    answered += count
    for (const { index, errno } of refusals) failures.push(new SyscallError('netlink', errno, messages[index]?.label))
  }
  return failures
}

const AF_NETLINK = 16
const SOCK_RAW = 3
const SOCK_CLOEXEC = 0o2000000
const NETLINK_ROUTE = 0
const NETLINK_NETFILTER = 12
const NFNLGRP_NFTABLES = 7
/** NFT_MSG_DELTABLE and NFT_MSG_DESTROYTABLE of nf_tables. */
const TABLE_REMOVED = [0x0a02, 0x0a1a]
const MSG_DONTWAIT = 0x40
const ANSWER_BYTES = 16_384
/** Larger than any event datagram of the kernel. */
const EVENT_BYTES = 65_536

const socket = lazyNative<(domain: number, type: number, protocol: number) => number>(null, 'socket', {
  result: 'int',
  args: ['int', 'int', 'int'],
})
const send = lazyNative<(fd: number, data: Buffer, size: number, flags: number) => number>(null, 'send', {
  result: 'long',
  args: ['int', 'void *', 'ulong', 'int'],
})
const recv = lazyNative<(fd: number, data: Buffer, size: number, flags: number) => number>(null, 'recv', {
  result: 'long',
  args: ['int', 'void *', 'ulong', 'int'],
})
const bind = lazyNative<(fd: number, address: Buffer, size: number) => number>(null, 'bind', {
  result: 'int',
  args: ['int', 'void *', 'uint'],
})
