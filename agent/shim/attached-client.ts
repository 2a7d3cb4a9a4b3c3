import type { Socket } from 'node:net'
import {
  createShimFrameReader,
  encodeShimFrame,
  encodeShimFrameHeader,
  FRAME_PAYLOAD_BYTES,
  type Frame,
} from '../drivers/exec/shim-frames.ts'

/** What is kept of a stream. */
export interface KeptOutput {
  /** Of all that was written. */
  readonly totalBytes: number
  /** At most `maxBytes` from `offset` on, or from the oldest byte that is kept. */
  read(offset: number, maxBytes: number): { offset: number; bytes: Buffer }
}

/** A stream of what is held, as viewers read it: from what is kept of it, each at its own pace. */
export interface Track {
  readonly kind: 'stdout' | 'stderr'
  readonly kept: KeptOutput
  /** Where a new viewer begins. */
  readonly replayFrom: () => number
  /** Whether no more will come. */
  isEnded: boolean
}

/** One who is attached, at the other end of a connection. */
export interface AttachedClient {
  /** Sends what is new, as far as it is read at the other end. */
  pump(): void
  /** How far it is behind a track, in bytes. */
  lag(track: Track): number
  /** Reads on what it says. */
  resume(): void
  /** Closes the connection once everything has been sent. */
  end(): void
}

export interface AttachedClientListener {
  /** False: it is not listened to until `resume`. */
  onFrame(frame: Frame): boolean
  /** It has read something. */
  onProgress(): void
  onClose(): void
}

/**
 * Serves the viewer at `socket`, of which `rest` was read already. Of what it has not read only the last piece is in memory,
 * 64 KiB at most; where what comes next is no longer kept, it goes on at what is.
 */
export function serveClient(
  parts: { socket: Socket; rest: Buffer; tracks: readonly Track[] },
  on: AttachedClientListener,
): AttachedClient {
  const { socket, rest, tracks } = parts
  const places = new Map(tracks.map((track) => [track, { offset: track.replayFrom(), isEnded: false }]))
  let isEnding = false
  const sendNext = (track: Track): boolean => {
    const place = places.get(track)
    if (place === undefined || place.isEnded || !socket.writable) return false
    const { offset, bytes } = track.kept.read(place.offset, FRAME_PAYLOAD_BYTES)
    // Also where nothing is kept of what came: nobody is behind with that.
    place.offset = offset + bytes.length
    if (bytes.length === 0 && !track.isEnded) return false
    place.isEnded = bytes.length === 0
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
      // What is kept cannot be read, for a fault of the disk: that ends this connection, and nothing else.
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
    lag: (track) => Math.max(0, track.kept.totalBytes - (places.get(track)?.offset ?? 0)),
    resume,
    end: () => {
      isEnding = true
      pump()
    },
  }
}

// What makes no sense costs whoever said it the connection, and nobody else anything. Returns what reads on after a pause.
function readFrames(socket: Socket, rest: Buffer, on: AttachedClientListener): () => void {
  const reader = createShimFrameReader()
  let probe: NodeJS.Timeout | undefined
  const pause = (): void => {
    socket.pause()
    // The end of a connection that nobody reads is seen only by writing to it.
    probe ??= setInterval(() => {
      if (socket.writable && !socket.writableNeedDrain) socket.write(encodeShimFrame({ kind: 'idle' }))
    }, PROBE_MS)
  }
  const stopProbe = (): void => {
    clearInterval(probe)
    probe = undefined
  }
  const read = (chunk: Buffer): void => {
    try {
      for (const frame of reader.push(chunk)) if (!on.onFrame(frame)) pause()
    } catch {
      socket.destroy()
    }
  }
  socket.once('close', stopProbe)
  // Nobody is there to hear of it before this returns.
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
