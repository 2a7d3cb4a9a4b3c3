import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { isErrno, SyscallError, watchReadable } from '../../lib/syscalls/libc.ts'
import { acceptApart, openUnixSocket, peerUserOf, startListening, stopListening } from '../../lib/syscalls/sockets.ts'
import type { BoxSocket } from '../../ports/boxes/box-socket.ts'
import type { RunningExec } from '../../ports/boxes/runtime.ts'
import type { ExecEnds } from '../exec/pipes.ts'
import { openHolderEnds } from '../exec/socket-holder.ts'
import type { BoxHandle } from '../host/handle.ts'
import type { BoxUser, OciProcess } from '../host/oci-spec.ts'
import { openInNetwork } from './box-ports.ts'

/** A socket to open in a running box. */
export interface SocketTask {
  handle: Pick<BoxHandle, 'pid' | 'idBase'>
  user: BoxUser
  workDir: string
  /** Starts the program that holds its name, as the user. */
  startHolder(openEnds: (process: OciProcess) => ExecEnds): Promise<RunningExec>
}

/** Opens the sockets of boxes, as `Runtime.openSocket`. */
export class BoxSockets {
  /** Connections to all sockets. */
  readonly #shared: SharedCount = { open: 0 }

  async open({ handle, user, workDir, startHolder }: SocketTask): Promise<BoxSocket> {
    const directory = `/tmp/ssh-${randomBytes(12).toString('hex')}`
    const path = `${directory}/agent`
    // In the box's network namespace, because the box may keep the socket. A socket of the host's namespace would reach abstract names of
    // the host.
    const fd = openInNetwork(handle, openUnixSocket)
    const ids = { uid: handle.idBase + user.uid, gid: handle.idBase + user.gid }
    let holder: RunningExec | undefined
    try {
      holder = await startHolder((process) => openHolderEnds({ workDir, process, ids, fd, directory, path }))
      await untilHeld(holder)
      startListening(fd, WAITING_MAX)
    } catch (error) {
      closeFd(fd)
      holder?.stdin.destroy()
      await holder?.signal('SIGKILL').catch(() => undefined)
      throw error
    }
    return new ServedSocket({ path, fd, holder, users: new Set([handle.idBase, ids.uid]), shared: this.#shared })
  }
}

/** Resolves once the socket has its name. The box can stop the holder, and write to its output. */
async function untilHeld({ stdout, exited }: RunningExec): Promise<void> {
  const line = new Promise<boolean>((resolve) => {
    stdout.once('data', (bytes: Buffer) => resolve(bytes[0] === NEWLINE)).once('close', () => resolve(false))
  })
  const isHeld = await Promise.race([line, pause(HOLD_MS)])
  stdout.destroy()
  if (isHeld === true) return
  const end = await Promise.race([exited, pause(STATUS_MS)])
  if (end === undefined || end.reason !== undefined || !end.exitCode)
    throw refusal('box_busy', [
      'The box could not run the process that makes a socket in /tmp.',
      'End other commands, or leave out the SSH agent (-A).',
    ])
  const cause = new SyscallError('bind', end.exitCode)
  if (isErrno(cause, 'ENOSPC', 'EDQUOT'))
    throw refusal('storage_full', ['The disk of the box is full.', 'Delete files, or leave out the SSH agent (-A).'], {
      cause,
    })
  const why = `The box cannot hold a socket in /tmp (${cause.code}).`
  throw new ServiceError(
    'path_invalid',
    `${why} Make it a directory that the user can write, or leave out the SSH agent (-A).`,
    { cause },
  )
}

/** Waits without keeping this process alive. */
function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false })
}

interface SharedCount {
  open: number
}

interface ServedParts {
  path: string
  /** A listening socket. */
  fd: number
  holder: RunningExec
  /** Ids on the host of users that may connect. */
  users: ReadonlySet<number>
  shared: SharedCount
}

class ServedSocket implements BoxSocket {
  readonly path: string
  readonly #parts: ServedParts
  readonly #connections = new Set<Socket>()
  #listener: (connection: Duplex) => void = () => undefined
  #watch: { close(): void } | null = null
  #timer: NodeJS.Timeout | undefined
  /** A running accept call. */
  #taking: Promise<void> | null = null
  #closing: Promise<void> | null = null

  constructor(parts: ServedParts) {
    this.#parts = parts
    this.path = parts.path
    // The box has ended, or has killed the holder.
    void parts.holder.exited.then(() => this.close())
  }

  serve(listener: (connection: Duplex) => void): void {
    this.#listener = listener
    this.#wait()
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  #wait(): void {
    const isBusy = this.#connections.size >= CONNECTIONS_MAX
    // One connection is always possible, so that no box keeps the agent from another.
    const isFull = this.#connections.size > 0 && this.#parts.shared.open >= SHARED_MAX
    const isUnderWay = this.#watch !== null || this.#taking !== null || this.#timer !== undefined
    if (this.#closing !== null || isUnderWay || isBusy) return
    if (isFull) return this.#waitAfter(FULL_PAUSE_MS)
    this.#watch = watchReadable(this.#parts.fd, () => {
      this.#taking ??= this.#accept()
    })
  }

  // Accepts one connection at a time, with a pause, so that a box that connects as fast as it can uses little of this process.
  async #accept(): Promise<void> {
    this.#watch?.close()
    this.#watch = null
    const pauseMs = await this.#take()
    this.#taking = null
    if (this.#closing !== null) return
    this.#waitAfter(pauseMs)
  }

  #waitAfter(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#wait()
    }, pauseMs).unref()
  }

  /** Accepts a connection, and returns for how many ms to accept none. */
  async #take(): Promise<number> {
    const { fd: listener, users } = this.#parts
    // Only this process should have the listener. A box that got hold of it could make this call last.
    const guard = setTimeout(() => stopListening(listener), ACCEPT_MS)
    let fd: number | null = null
    try {
      fd = await acceptApart(listener)
      if (fd === null) return PAUSE_MS
      const isOfUser = users.has(peerUserOf(fd))
      if (this.#closing === null && isOfUser) this.#add(new Socket({ fd, allowHalfOpen: true }))
      else closeFd(fd)
      return isOfUser ? PAUSE_MS : FAULT_PAUSE_MS
    } catch {
      // For example if there are no free descriptors.
      if (fd !== null) closeFd(fd)
      return FAULT_PAUSE_MS
    } finally {
      clearTimeout(guard)
    }
  }

  #add(connection: Socket): void {
    const { shared } = this.#parts
    this.#connections.add(connection)
    shared.open++
    connection.on('error', () => undefined)
    connection.once('close', () => {
      this.#connections.delete(connection)
      shared.open--
      this.#wait()
    })
    this.#listener(connection)
  }

  async #end(): Promise<void> {
    const { fd, holder } = this.#parts
    clearTimeout(this.#timer)
    this.#watch?.close()
    stopListening(fd)
    await this.#taking
    closeFd(fd)
    for (const connection of this.#connections) connection.destroy()
    // The holder removes the name at the end of its input.
    holder.stdin.destroy()
    const kill = setTimeout(() => void holder.signal('SIGKILL').catch(() => undefined), KILL_MS)
    await Promise.race([holder.exited, pause(GIVE_UP_MS)])
    clearTimeout(kill)
  }
}

const NEWLINE = 0x0a
/** Connections that wait in the box for `acceptApart`. A program that makes more waits itself. */
const WAITING_MAX = 16
/** Connections to one socket at once. */
const CONNECTIONS_MAX = 8
/** Connections to all sockets at once, beside the first of each. */
const SHARED_MAX = 1_024
/** Time for a holder to name its socket, and to end if it cannot. */
const HOLD_MS = 5_000
const STATUS_MS = 1_000
const ACCEPT_MS = 10_000
const PAUSE_MS = 5
/** Pause after a fault, or a connection of a user without access. */
const FAULT_PAUSE_MS = 1_000
/** Pause while all connections that commands share are in use. */
const FULL_PAUSE_MS = 250
const KILL_MS = 1_000
const GIVE_UP_MS = 2_000
