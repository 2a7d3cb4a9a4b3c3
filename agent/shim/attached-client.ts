import type { Socket } from 'node:net'
import { repeat } from '../../shared/repeat.ts'
import {
  createShimFrameReader,
  encodeShimFrame,
  encodeShimFrameHeader,
  FRAME_PAYLOAD_BYTES,
  type Frame,
} from '../drivers/exec/shim-frames.ts'

/** The kept end of a stream. */
export interface KeptOutput {
  /** Counts all bytes written, kept or not. */
  readonly totalBytes: number
  /** Reads at most `maxBytes` from `offset` on, or from the oldest byte that is kept. */
  read(offset: number, maxBytes: number): { offset: number; bytes: Buffer }
}

/** An output stream as clients read it: from its kept bytes, each at its own pace. */
export interface Track {
  readonly kind: 'stdout' | 'stderr'
  readonly kept: KeptOutput
  /** Returns the offset at which a new client begins. */
  readonly replayFrom: () => number
  /** True once no more output will come. */
  isEnded: boolean
}

/** A client at the other end of a connection. */
export interface AttachedClient {
  /** Sends new output, as far as the connection takes it. */
  pump(): void
  /** Returns how far it is behind a track, in bytes. */
  lag(track: Track): number
  /** Resumes reading its frames. */
  resume(): void
  /** Closes the connection once all output has been sent. */
  end(): void
}

export interface AttachedClientListener {
  /** Returns false to stop reading until `resume`. */
  onFrame(frame: Frame): boolean
  /** Called when it has read something. */
  onProgress(): void
  onClose(): void
}

/**
 * Serves the client at `socket`, from which `rest` was read already. Keeps at most one unread piece of 64 KiB in memory. A
 * client whose next bytes are no longer kept continues at the oldest kept byte.
 */
export function serveClient(
  parts: { socket: Socket; rest: Buffer; tracks: readonly Track[] },
  on: AttachedClientListener,
): AttachedClient {
  const { socket, rest, tracks } = parts
  const positions = new Map(tracks.map((track) => [track, { offset: track.replayFrom(), isEnded: false }]))
  let isEnding = false
  const sendNext = (track: Track): boolean => {
    const position = positions.get(track)
    if (position === undefined || position.isEnded || !socket.writable) return false
    const { offset, bytes } = track.kept.read(position.offset, FRAME_PAYLOAD_BYTES)
    // Also advances over bytes that are no longer kept, which do not count as lag.
    position.offset = offset + bytes.length
    if (bytes.length === 0 && !track.isEnded) return false
    position.isEnded = bytes.length === 0
    socket.cork()
    socket.write(encodeShimFrameHeader(track.kind, bytes.length))
    if (bytes.length > 0) socket.write(bytes)
    socket.uncork()
    return true
  }
  const sendSome = (): boolean => {
    let isMore = true
    while (isMore && !socket.writableNeedDrain) {
      isMore = false
      for (const track of tracks) if (sendNext(track)) isMore = true
    }
    return isMore
  }
  const pump = (): void => {
    let isMore = false
    try {
      isMore = sendSome()
    } catch {
      // A disk error while reading kept output ends this connection only.
      socket.destroy()
    }
    if (isEnding && !isMore && !socket.writableEnded) socket.end()
  }
  const resume = readFrames(socket, rest, on)
  socket.on('drain', () => {
    pump()
    on.onProgress()
  })
  socket.on('close', on.onClose)
  return {
    pump,
    lag: (track) => Math.max(0, track.kept.totalBytes - (positions.get(track)?.offset ?? 0)),
    resume,
    end: () => {
      isEnding = true
      pump()
    },
  }
}

// Closes the connection at an invalid frame. Returns the function that resumes after a pause.
function readFrames(socket: Socket, rest: Buffer, on: AttachedClientListener): () => void {
  const reader = createShimFrameReader()
  let endProbe: (() => void) | undefined
  const pause = (): void => {
    socket.pause()
    // While the socket is not read, only a write finds out that the peer has closed.
    const probe = (): void => {
      if (socket.writable && !socket.writableNeedDrain) socket.write(encodeShimFrame({ kind: 'idle' }))
    }
    endProbe ??= repeat(probe, { everyMs: PROBE_MS, onError: () => socket.destroy(), keepsAlive: true })
  }
  const stopProbe = (): void => {
    endProbe?.()
    endProbe = undefined
  }
  const read = (chunk: Buffer): void => {
    try {
      for (const frame of reader.push(chunk)) if (!on.onFrame(frame)) pause()
    } catch {
      socket.destroy()
    }
  }
  socket.once('close', stopProbe)
  // Deferred: the caller has no client to pass to its listener before this returns.
  setImmediate(() => {
    socket.on('data', read).resume()
    if (rest.length > 0) read(rest)
  })
  return () => {
    stopProbe()
    socket.resume()
  }
}

const PROBE_MS = 1_000
