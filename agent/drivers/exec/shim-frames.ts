import type { TerminalSize } from '../../ports/boxes/runtime.ts'

/**
 * Frames between a client and the shim. A frame has one byte of type, four bytes of payload length (big-endian), and the payload of at most
 * 64 KiB. An empty frame of a stream is its end. The payload of `resize` is columns and rows, two bytes each. `idle` is empty and ignored.
 * Sending it detects a closed peer.
 */
export const FRAME = { stdin: 0, stdout: 1, stderr: 2, resize: 3, idle: 4 } as const

export const FRAME_PAYLOAD_BYTES = 64 * 1024

export type Frame =
  | { kind: 'stdin' | 'stdout' | 'stderr'; bytes: Buffer }
  | { kind: 'resize'; size: TerminalSize }
  | { kind: 'idle' }

/** Encodes the header of a payload of `length` bytes. */
export function encodeShimFrameHeader(kind: keyof typeof FRAME, length: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt8(FRAME[kind], 0)
  header.writeUInt32BE(length, 1)
  return header
}

export function encodeShimFrame(frame: Frame): Buffer {
  const payload = payloadOf(frame)
  return Buffer.concat([encodeShimFrameHeader(frame.kind, payload.length), payload])
}

/** Parses frames from chunks of any length. Buffers less than one frame. */
export interface FrameReader {
  /** Returns the frames that end in `chunk`. Throws at an invalid frame. Do not use the reader after that. */
  push(chunk: Buffer): Frame[]
}

export function createShimFrameReader(): FrameReader {
  let pieces: Buffer[] = []
  let bufferedBytes = 0
  // The length of the current frame, or of its header until that is complete.
  let wantedBytes = HEADER_BYTES
  const takeHeader = (): void => {
    const header = Buffer.concat(pieces)
    pieces = [header]
    wantedBytes = HEADER_BYTES + payloadLength(header)
  }
  return {
    push: (chunk) => {
      const frames: Frame[] = []
      for (let start = 0; start < chunk.length; ) {
        const piece = chunk.subarray(start, start + wantedBytes - bufferedBytes)
        start += piece.length
        bufferedBytes += piece.length
        pieces.push(piece)
        if (bufferedBytes < wantedBytes) break
        if (wantedBytes === HEADER_BYTES) takeHeader()
        if (bufferedBytes < wantedBytes) continue
        frames.push(decodeFrame(Buffer.concat(pieces)))
        pieces = []
        bufferedBytes = 0
        wantedBytes = HEADER_BYTES
      }
      return frames
    },
  }
}

function payloadLength(header: Buffer): number {
  const [kind, length] = [kindOf(header), header.readUInt32BE(1)]
  const [least, most] = kind === 'resize' ? [SIZE_BYTES, SIZE_BYTES] : [0, kind === 'idle' ? 0 : FRAME_PAYLOAD_BYTES]
  if (length < least || length > most) throw new Error(`a frame of type ${kind} has ${length} bytes`)
  return length
}

function decodeFrame(bytes: Buffer): Frame {
  const [kind, payload] = [kindOf(bytes), bytes.subarray(HEADER_BYTES)]
  if (kind === 'idle') return { kind }
  if (kind === 'resize') return { kind, size: { cols: payload.readUInt16BE(0), rows: payload.readUInt16BE(2) } }
  return { kind, bytes: payload }
}

function kindOf(bytes: Buffer): keyof typeof FRAME {
  const kind = KINDS[bytes[0] ?? -1]
  if (kind === undefined) throw new Error(`a frame is of the unknown type ${bytes[0]}`)
  return kind
}

function payloadOf(frame: Frame): Buffer {
  if (frame.kind === 'idle') return Buffer.alloc(0)
  return frame.kind === 'resize' ? encodeSize(frame.size) : frame.bytes
}

function encodeSize({ cols, rows }: TerminalSize): Buffer {
  const payload = Buffer.alloc(SIZE_BYTES)
  payload.writeUInt16BE(cols, 0)
  payload.writeUInt16BE(rows, 2)
  return payload
}

const KINDS = ['stdin', 'stdout', 'stderr', 'resize', 'idle'] as const
const HEADER_BYTES = 5
const SIZE_BYTES = 4
