import { Server as HttpServer, type IncomingMessage } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Server, Socket } from 'node:net'
import { createFairShares } from '../fair-shares.ts'
import type { Logger } from '../log.ts'
import { HTTP_BOUNDS } from './bounds.ts'
import { hasDueAnswers } from './due-answers.ts'
import type { SourceAddresses } from './source-address.ts'
import { sourceKey } from './source-key.ts'

/**
 * Why the server closed a connection. `refused` means on arrival, without a share left. `displaced` means by a newer connection while it
 * had no request. `unread` means that its client read nothing of an answer for a minute.
 */
export type ClosedReason = (typeof CLOSED_REASONS)[number]

/** All reasons, as labels of a metric. */
export const CLOSED_REASONS = ['refused', 'displaced', 'unread'] as const

export interface ConnectionBoundsOptions {
  /** Name of the listener, for the log. */
  listener: string
  /** Maximum number of connections. One address has at most half of them, and no more than remain free (`createFairShares`). */
  max: number
  /** Trusted proxies. Their connections belong to many clients and count only toward the total. */
  sources: SourceAddresses
  logger: Logger
  onClosed?(reason: ClosedReason): void
  /** Milliseconds in which a client must read something of an answer. Default: a minute. */
  unreadMs?: number
}

/** The connections of a server. */
export interface ConnectionBounds {
  open(): number
}

/**
 * Bounds the connections of a server, in total and by source address (IPv6 by /64). Idle ones thus use up neither its descriptors nor the
 * share of others. Without a share left, a new connection replaces the oldest one without a request, from the address that has most of
 * them. Closes connections whose clients do not read an answer. Logs at most once a minute.
 */
export function boundConnections(server: Server, options: ConnectionBoundsOptions): ConnectionBounds {
  const isHttp = server instanceof HttpServer || server instanceof HttpsServer
  const table = createTable({ ...options, isHttp })
  const note = createNotes(options)
  // Runs first, so that later listeners see every counted connection.
  server.prependListener('connection', (socket: Socket) => {
    admit(table, socket, note)
  })
  server.on('secureConnection', (socket: Socket) => table.secure(socket))
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    table.upgrade(socket)
    // It may be idle for long, and has no answer due.
    socket.setTimeout(0)
  })
  if (isHttp) closeUnread(server, options.unreadMs ?? HTTP_BOUNDS.unreadMs, note)
  return { open: () => table.size() }
}

interface Connection {
  /** The kernel's socket, and the socket on top of it that speaks HTTP. */
  raw: Socket
  wire: Socket
  /** The key of its address. */
  key: string
  /** True once it is a WebSocket, which has its own heartbeat. */
  isUpgraded: boolean
  /** Returns its share. */
  release(): void
}

interface Table {
  size(): number
  /** Adds a connection if a share is left, or in place of one that has released its share. */
  add(socket: Socket, options: { isInPlace: boolean }): boolean
  /** Finds the connection that a new one of this address can displace. */
  displaceable(address: string | undefined): Connection | null
  /** Notes the TLS socket of a connection. */
  secure(socket: Socket): void
  /** Notes that a connection is a WebSocket now. */
  upgrade(socket: Socket): void
}

function createTable({ max, sources, isHttp }: ConnectionBoundsOptions & { isHttp: boolean }): Table {
  const shares = createFairShares(max)
  const byKey = new Map<string, Set<Connection>>()
  const bySocket = new WeakMap<Socket, Connection>()
  const byPeer = new Map<string, Connection>()
  const take = (key: string, address: string | undefined): (() => void) | null => {
    if (key !== '' && !sources.isProxy(address ?? '')) return shares.take(key)
    return shares.held() < max ? shares.add(key) : null
  }
  return {
    size: () => shares.held(),
    add: (socket, { isInPlace }) => {
      const { remoteAddress } = socket
      const key = sourceKey(remoteAddress)
      const giveBack = isInPlace ? shares.add(key) : take(key, remoteAddress)
      if (giveBack === null) return false
      const peer = peerOf(socket)
      const all = byKey.get(key) ?? new Set()
      const release = (): void => {
        giveBack()
        all.delete(connection)
        if (all.size === 0 && byKey.get(key) === all) byKey.delete(key)
        if (byPeer.get(peer) === connection) byPeer.delete(peer)
      }
      const connection: Connection = { raw: socket, wire: socket, key, isUpgraded: false, release }
      byKey.set(key, all.add(connection))
      byPeer.set(peer, connection)
      bySocket.set(socket, connection)
      socket.once('close', release)
      return true
    },
    displaceable: (address) => {
      // For other protocols it is unknown which connections have a request.
      if (!isHttp) return null
      const own = byKey.get(sourceKey(address)) ?? new Set()
      let best: { idle: Connection; size: number } | null = null
      for (const all of byKey.values()) {
        if (all.size <= Math.max(own.size, best?.size ?? 0)) continue
        const idle = firstIdle(all)
        if (idle !== null) best = { idle, size: all.size }
      }
      return best?.idle ?? firstIdle(own)
    },
    secure: (socket) => {
      const connection = byPeer.get(peerOf(socket))
      if (connection === undefined) return
      connection.wire = socket
      socket.once('close', connection.release)
      bySocket.set(socket, connection)
    },
    upgrade: (socket) => {
      const connection = bySocket.get(socket)
      if (connection !== undefined) connection.isUpgraded = true
    },
  }
}

function admit(table: Table, socket: Socket, note: Note): void {
  if (table.add(socket, { isInPlace: false })) return
  const displaced = table.displaceable(socket.remoteAddress)
  if (displaced !== null) {
    note('displaced', displaced.key)
    displaced.release()
    reset(displaced.raw)
    table.add(socket, { isInPlace: true })
    return
  }
  note('refused', sourceKey(socket.remoteAddress))
  // Runs after the other listeners, which expect an open socket.
  process.nextTick(() => reset(socket))
}

/** Closes a connection and leaves nothing of it in the kernel. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy()
  else socket.resetAndDestroy()
}

function firstIdle(connections: Iterable<Connection>): Connection | null {
  for (const connection of connections) if (!connection.isUpgraded && !hasDueAnswers(connection.wire)) return connection
  return null
}

// A TLS socket and its underlying socket have the same peer.
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Enables node:http's timeout for idle sockets, and closes those whose client does not read the answer. */
function closeUnread(server: HttpServer | HttpsServer, unreadMs: number, note: Note): void {
  server.timeout = unreadMs
  server.on('timeout', (socket: Socket) => {
    const isIdle = !hasDueAnswers(socket)
    if (!isIdle && socket.writableLength === 0) return
    if (!isIdle) note('unread', sourceKey(socket.remoteAddress))
    socket.destroy()
  })
}

type Note = (reason: ClosedReason, address: string) => void

function createNotes({ listener, logger, onClosed }: ConnectionBoundsOptions): Note {
  const counts = new Map<ClosedReason, number>()
  let isQuiet = false
  return (reason, address) => {
    onClosed?.(reason)
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
    if (isQuiet) return
    isQuiet = true
    setTimeout(() => {
      isQuiet = false
    }, QUIET_MS).unref()
    logger.warn('closed connections above the limit', { listener, last: address, ...Object.fromEntries(counts) })
    counts.clear()
  }
}

const QUIET_MS = 60_000
