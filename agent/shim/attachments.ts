import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { ServiceError } from '../../shared/errors.ts'
import type { Frame } from '../drivers/exec/shim-frames.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'
import { type AttachedClient, serveClient, type Track } from './attached-client.ts'
import { type BackpressureSource, createBackpressure } from './backpressure.ts'
import { createInputOwner } from './input-owner.ts'

/** Who wants to be attached, at the other end of `socket`, of which `rest` was read already. */
export interface AttachRequest {
  socket: Socket
  rest: Buffer
  typing: Typing
  /** Called once it is let in, before it is sent anything. */
  welcome(isTerminal: boolean): void
}

/** Those who are attached to one command or session. */
export interface Attachments {
  readonly size: number
  /** Throws `rate_limited` beyond 64. */
  join(visitor: AttachRequest): void
  /** There is new output. */
  tell(): void
  /** The command is gone: what is left of its output is read whoever is behind. */
  hurry(): void
  /** No more output comes: whoever is attached, or comes yet, gets what is left, and its end. */
  end(): void
  /** Resolves as soon as nobody is attached. */
  empty(): Promise<void>
}

export interface AttachmentsOptions {
  stdin: Writable
  isTerminal: boolean
  terminal: Terminal | null
  /** What the output is read from; each ends with all of its sources. */
  streams: readonly (BackpressureSource & Pick<Track, 'kind' | 'kept' | 'replayFrom'>)[]
  /** Whether the end of a viewer's input is the end of the command's. */
  endsInput: boolean
  onSize?: (size: TerminalSize) => void
}

/** Nobody yet. While all who are there are behind, the sources are not read; while nobody is, they always are. */
export function createAttachments(options: AttachmentsOptions): Attachments {
  const { isTerminal, streams, onSize = () => undefined } = options
  const viewers = new Set<AttachedClient>()
  const tracks = streams.map((stream) => ({ ...stream, isEnded: false, pace: createBackpressure(stream) }))
  const leavers = new Set<() => void>()
  let [isHurried, isOver] = [false, false]
  const pace = (): void => {
    for (const track of tracks) track.pace.check(isHurried ? [] : [...viewers].map((each) => each.lag(track)))
  }
  const tell = (): void => {
    for (const viewer of viewers) viewer.pump()
    pace()
  }
  const keyboard = createInputOwner<AttachedClient>({ ...options, onSize, onRoom: (viewer) => viewer.resume() })
  const leave = (viewer: AttachedClient): void => {
    viewers.delete(viewer)
    keyboard.leave(viewer)
    pace()
    if (viewers.size > 0) return
    for (const resolve of leavers) resolve()
    leavers.clear()
  }
  const hear = (viewer: AttachedClient, frame: Frame): boolean => {
    if (isOver || frame.kind === 'idle') return true
    if (frame.kind === 'resize') keyboard.resize(viewer, frame.size)
    else if (frame.kind !== 'stdin') throw new Error('a viewer has no output')
    else if (frame.bytes.length > 0) return keyboard.type(viewer, frame.bytes)
    else keyboard.endInput(viewer)
    return true
  }
  for (const track of tracks) {
    const end = (): void => {
      track.isEnded ||= track.sources.every((source) => source.readableEnded || source.destroyed)
      tell()
    }
    for (const source of track.sources) source.once('end', end).once('close', end)
  }
  return {
    get size() {
      return viewers.size
    },
    join: ({ socket, rest, typing, welcome }) => {
      if (socket.destroyed) return
      if (viewers.size >= SHIM_LIMITS.viewersEach) throw tooMany()
      welcome(isTerminal)
      const on = { onProgress: pace, onClose: () => leave(viewer), onFrame: (frame: Frame) => hear(viewer, frame) }
      const viewer = serveClient({ socket, rest, tracks }, on)
      viewers.add(viewer)
      keyboard.join(viewer, typing)
      if (isOver) viewer.end()
      else tell()
    },
    tell,
    hurry: () => {
      isHurried = true
      pace()
    },
    end: () => {
      isHurried = isOver = true
      for (const track of tracks) track.isEnded = true
      for (const viewer of viewers) viewer.end()
      pace()
    },
    empty: () => (viewers.size === 0 ? Promise.resolve() : new Promise((resolve) => leavers.add(resolve))),
  }
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limited', 'Too many are attached already; try again when some have left.')
}
