import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { ServiceError } from '../../shared/errors.ts'
import type { Frame } from '../drivers/exec/shim-frames.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'
import { type AttachedClient, serveClient, type Track } from './attached-client.ts'
import { createInputOwner } from './input-owner.ts'

/** A viewer that asks to be attached over `socket`, from which `rest` was read already. */
export interface AttachRequest {
  socket: Socket
  rest: Buffer
  typing: Typing
  /** Called when it is accepted, before it is sent anything. */
  onAccepted(isTerminal: boolean): void
}

/** The viewers of one command or session. */
export interface AttachedClients {
  readonly size: number
  /** Adds a viewer. Throws `rate_limited` beyond 64. */
  join(visitor: AttachRequest): void
  /** Sends new output to the viewers. */
  onOutput(): void
  /** Ends backpressure: the command has exited, and the rest of its output is read however far viewers lag. */
  ignoreLag(): void
  /** Ends the output: viewers, later ones included, get what is left and then end of file. */
  end(): void
  /** Resolves once no viewer is attached. */
  empty(): Promise<void>
}

export interface AttachedClientsOptions {
  stdin: Writable
  isTerminal: boolean
  terminal: Terminal | null
  /** The output streams; each ends when all of its sources have. */
  streams: readonly (BackpressureSource & Pick<Track, 'kind' | 'kept' | 'replayFrom'>)[]
  /** True: the end of a viewer's input closes the command's. */
  endsInput: boolean
  onSize?: (size: TerminalSize) => void
}

/** Starts without viewers. Pauses the sources while all viewers lag; without viewers they are always read. */
export function createAttachedClients(options: AttachedClientsOptions): AttachedClients {
  const { isTerminal, streams, onSize = () => undefined } = options
  const viewers = new Set<AttachedClient>()
  const tracks = streams.map((stream) => ({ ...stream, isEnded: false, backpressure: createBackpressure(stream) }))
  const emptyWaiters = new Set<() => void>()
  let [ignoresLag, hasEnded] = [false, false]
  const updateBackpressure = (): void => {
    for (const track of tracks) track.backpressure.update(ignoresLag ? [] : [...viewers].map((each) => each.lag(track)))
  }
  const onOutput = (): void => {
    for (const viewer of viewers) viewer.pump()
    updateBackpressure()
  }
  const input = createInputOwner<AttachedClient>({ ...options, onSize, onWritable: (viewer) => viewer.resume() })
  const leave = (viewer: AttachedClient): void => {
    viewers.delete(viewer)
    input.leave(viewer)
    updateBackpressure()
    if (viewers.size > 0) return
    for (const resolve of emptyWaiters) resolve()
    emptyWaiters.clear()
  }
  const onFrame = (viewer: AttachedClient, frame: Frame): boolean => {
    if (hasEnded || frame.kind === 'idle') return true
    if (frame.kind === 'resize') input.resize(viewer, frame.size)
    else if (frame.kind !== 'stdin') throw new Error('a viewer has no output')
    else if (frame.bytes.length > 0) return input.write(viewer, frame.bytes)
    else input.endInput(viewer)
    return true
  }
  for (const track of tracks) {
    const end = (): void => {
      track.isEnded ||= track.sources.every((source) => source.readableEnded || source.destroyed)
      onOutput()
    }
    for (const source of track.sources) source.once('end', end).once('close', end)
  }
  return {
    get size() {
      return viewers.size
    },
    join: ({ socket, rest, typing, onAccepted }) => {
      if (socket.destroyed) return
      if (viewers.size >= SHIM_LIMITS.viewersEach) throw tooMany()
      onAccepted(isTerminal)
      const on = {
        onProgress: updateBackpressure,
        onClose: () => leave(viewer),
        onFrame: (frame: Frame) => onFrame(viewer, frame),
      }
      const viewer = serveClient({ socket, rest, tracks }, on)
      viewers.add(viewer)
      input.join(viewer, typing)
      if (hasEnded) viewer.end()
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
      for (const viewer of viewers) viewer.end()
      updateBackpressure()
    },
    empty: () => (viewers.size === 0 ? Promise.resolve() : new Promise((resolve) => emptyWaiters.add(resolve))),
  }
}

/** Keeps commands and sessions attachable for a while after their end, for the client that started one and attaches next. */
export interface RecentlyEnded {
  /** Counts those that are attachable or still have viewers. */
  readonly count: number
  find(id: string): AttachedClients | null
  /** Keeps one for 5 s, or until `max` later ones came; resolves after that, once no viewer is attached. */
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

/** A stream that is read no faster than its fastest viewer. */
interface BackpressureSource {
  sources: readonly Readable[]
  /** Pauses the sources while all viewers lag by more bytes than this. */
  maxLagBytes: number
}

/** Pauses and resumes the sources of a stream. */
interface Backpressure {
  /** Call whenever a viewer joins, leaves or its lag changes; `lags` are those of all viewers, in bytes. */
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
        if (isBehind) source.pause()
        else source.resume()
    },
  }
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limited', 'Too many are attached already; try again when some have left.')
}

const KEEP_MS = 5_000
