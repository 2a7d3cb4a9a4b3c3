import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { ServiceError } from '../../shared/errors.ts'
import { refusal } from '../../shared/refusals.ts'
import type { Valve } from '../../shared/valve.ts'
import type { Frame } from '../drivers/exec/shim-frames.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'
import { type AttachedClient, serveClient, type Track } from './attached-client.ts'
import { createInputOwner } from './input-owner.ts'

/** A request to attach over `socket`, from which `rest` was read already. */
export interface AttachRequest {
  socket: Socket
  rest: Buffer
  typing: Typing
  /** Called when it is accepted, before it is sent anything. */
  onAccepted(isTerminal: boolean): void
}

/** The clients of one command or session. */
export interface AttachedClients {
  readonly size: number
  /** Adds a client. Throws `rate_limited` beyond 64. */
  join(request: AttachRequest): void
  /** Sends new output to the clients. */
  onOutput(): void
  /** Ends backpressure. The command has exited, and the rest of its output is read however far clients lag. */
  ignoreLag(): void
  /** Ends the output. Clients, later ones included, get what is left and then end of file. */
  end(): void
  /** Resolves once no client is attached. */
  empty(): Promise<void>
}

export interface AttachedClientsOptions {
  stdin: Writable
  isTerminal: boolean
  terminal: Terminal | null
  /** The output streams. Each ends when all of its sources have. */
  streams: readonly (BackpressureSource & Pick<Track, 'kind' | 'kept' | 'replayFrom'>)[]
  /** True: the end of a client's input closes the command's. */
  endsInput: boolean
  onSize?: (size: TerminalSize) => void
}

/** Starts without clients. Pauses the sources while all clients lag. Without clients they are always read. */
export function createAttachedClients(options: AttachedClientsOptions): AttachedClients {
  const { isTerminal, streams, onSize = () => undefined } = options
  const clients = new Set<AttachedClient>()
  const tracks = streams.map((stream) => ({ ...stream, isEnded: false, backpressure: createBackpressure(stream) }))
  const emptyWaiters = new Set<() => void>()
  let [ignoresLag, hasEnded] = [false, false]
  const updateBackpressure = (): void => {
    for (const track of tracks) track.backpressure.update(ignoresLag ? [] : [...clients].map((each) => each.lag(track)))
  }
  const onOutput = (): void => {
    for (const client of clients) client.pump()
    updateBackpressure()
  }
  const input = createInputOwner<AttachedClient>({ ...options, onSize, onWritable: (client) => client.resume() })
  const leave = (client: AttachedClient): void => {
    clients.delete(client)
    input.leave(client)
    updateBackpressure()
    if (clients.size > 0) return
    for (const resolve of emptyWaiters) resolve()
    emptyWaiters.clear()
  }
  const onFrame = (client: AttachedClient, frame: Frame): boolean => {
    if (hasEnded || frame.kind === 'idle') return true
    if (frame.kind === 'resize') input.resize(client, frame.size)
    else if (frame.kind !== 'stdin') throw new Error('a viewer has no output')
    else if (frame.bytes.length > 0) return input.write(client, frame.bytes)
    else input.endInput(client)
    return true
  }
  for (const track of tracks) {
    const end = (): void => {
      track.isEnded ||= track.sources.every(({ stream }) => stream.readableEnded || stream.destroyed)
      onOutput()
    }
    for (const { stream } of track.sources) stream.once('end', end).once('close', end)
  }
  return {
    get size() {
      return clients.size
    },
    join: ({ socket, rest, typing, onAccepted }) => {
      if (socket.destroyed) return
      if (clients.size >= SHIM_LIMITS.clientsEach) throw tooMany()
      onAccepted(isTerminal)
      const on = {
        onProgress: updateBackpressure,
        onClose: () => leave(client),
        onFrame: (frame: Frame) => onFrame(client, frame),
      }
      const client = serveClient({ socket, rest, tracks }, on)
      clients.add(client)
      input.join(client, typing)
      if (hasEnded) client.end()
      else onOutput()
    },
    onOutput,
    ignoreLag: () => {
      ignoresLag = true
      updateBackpressure()
    },
    end: () => {
      ignoresLag = hasEnded = true
      for (const track of tracks) track.isEnded = true
      for (const client of clients) client.end()
      updateBackpressure()
    },
    empty: () => (clients.size === 0 ? Promise.resolve() : new Promise((resolve) => emptyWaiters.add(resolve))),
  }
}

/** Keeps commands and sessions attachable for a while after their end, for a client that starts one and then attaches. */
export interface RecentlyEnded {
  /** Counts those that are attachable or still have clients. */
  readonly count: number
  find(id: string): AttachedClients | null
  /** Keeps one for 5 s, or until `max` later ones came. Resolves after that, once no client is attached. */
  add(id: string, attachments: AttachedClients): Promise<void>
}

export function createRecentlyEnded(max: number): RecentlyEnded {
  const entries = new Map<string, { attachments: AttachedClients; expire(): void }>()
  let count = 0
  return {
    get count() {
      return count
    },
    find: (id) => entries.get(id)?.attachments ?? null,
    add: async (id, attachments) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, KEEP_MS)
      entries.set(id, { attachments, expire: resolve })
      count += 1
      if (entries.size > max) entries.values().next().value?.expire()
      await promise
      clearTimeout(timer)
      entries.delete(id)
      await attachments.empty()
      count -= 1
    },
  }
}

/** A stream that is read no faster than its fastest client. */
interface BackpressureSource {
  sources: readonly Valve[]
  /** Pauses the sources while all clients lag by more bytes than this. */
  maxLagBytes: number
}

/** Pauses and resumes the sources of a stream. */
interface Backpressure {
  /** Call whenever a client joins, leaves or its lag changes. `lags` has the lag of each client, in bytes. */
  update(lags: readonly number[]): void
}

function createBackpressure({ sources, maxLagBytes }: BackpressureSource): Backpressure {
  let isPaused = false
  return {
    update: (lags) => {
      const isBehind = lags.length > 0 && lags.every((lag) => lag > maxLagBytes)
      if (isBehind === isPaused) return
      isPaused = isBehind
      for (const source of sources)
        if (isBehind) source.hold('reader')
        else source.release('reader')
    },
  }
}

function tooMany(): ServiceError {
  return refusal('rate_limited', [
    `${SHIM_LIMITS.clientsEach} clients are attached already, the most of one command or session.`,
    'Try again when one has left.',
  ])
}

const KEEP_MS = 5_000
