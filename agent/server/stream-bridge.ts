import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import {
  CHANNELS,
  type ClientFrame,
  decodeFrame,
  encodeFrame,
  FrameFault,
  type FrameProtocol,
  statusOf,
} from '../../shared/http/exec-frames.ts'
import { notePassing } from '../../shared/http/passing-bytes.ts'
import type { CommandStream, StreamEnd } from '../core/exec/command-stream.ts'
import { messageHead } from './message-head.ts'

/** What passed between a client and its command; `closeCode` as RFC 6455 §7.4 has it. */
export interface BridgeFacts {
  bytesIn: number
  bytesOut: number
  closeCode: number
}

/** A client and its command, joined. */
export interface StreamBridge {
  readonly socket: WebSocket
  /** What it speaks over. */
  readonly wire: Socket
  /** As the command's. */
  readonly goesOn: boolean
  /** Settles when the client is gone, never rejects. */
  readonly closed: Promise<BridgeFacts>
  /** Lets go of the command and tells the client why, who has a second to answer. */
  close(code: number, reason: string): void
}

export interface BridgeEnds {
  wire: Socket
  stream: CommandStream
  protocol: FrameProtocol
}

/**
 * Passes on what either side says. Who reads slowly makes the other wait, with at most 512 KiB of each direction in memory
 * and one message of the client's. When the command has ended and its output is told, its status follows, once, and the
 * socket is closed.
 */
export function bridgeStream(socket: WebSocket, { wire, stream, protocol }: BridgeEnds): StreamBridge {
  const facts = { bytesIn: 0, bytesOut: 0 }
  const closed = Promise.withResolvers<BridgeFacts>()
  let isOver = false
  let closeCode: number | null = null
  /** From here on nothing is passed on. Of a command whose end is told nobody leaves: what it left running goes on. */
  const letGo = (isTold: boolean): boolean => {
    if (isOver) return false
    isOver = true
    if (isTold) stream.stdin.destroy()
    else stream.leave()
    // Paused, it would not read that the client closes.
    socket.resume()
    return true
  }
  const closeWith = (code: number, reason: string): void => {
    closeCode ??= code
    socket.close(code, reason)
    endSoon(socket, wire, code)
  }
  const close = (code: number, reason: string): void => {
    if (letGo(false)) closeWith(code, reason)
  }
  const send = (channel: number, payload: Uint8Array, onSent: () => void): void => {
    facts.bytesOut += payload.length
    notePassing(payload.length)
    if (protocol !== TEXT && payload.length >= COPIED_BYTES && socket.readyState === socket.OPEN) {
      sendUncopied(wire, { head: messageHead(channel, payload.length), payload, onSent })
      return
    }
    const frame = encodeFrame(protocol, channel, payload)
    socket.send(frame, { binary: typeof frame !== 'string' }, onSent)
  }
  const tellEnd = (end: StreamEnd): void => {
    if (!letGo(true)) return
    const status = Buffer.from(JSON.stringify(statusOf(end)))
    // Whoever reads slowly is not cut off before it has read that far.
    send(CHANNELS.status, status, () => closeWith(1000, ''))
  }
  const take = createInput(stream, socket)
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isOver) return
    facts.bytesIn += data.length
    try {
      take(decodeFrame(protocol, data, !isBinary))
    } catch (error) {
      if (error instanceof FrameFault) close(error.closeCode, error.message)
      else close(1011, 'The command could not be told.')
    }
  })
  // The socket closes by itself, with the code of what was wrong.
  socket.on('error', () => {
    if (letGo(false)) endSoon(socket, wire, 1002)
  })
  socket.once('close', (code: number) => {
    letGo(false)
    closed.resolve({ ...facts, closeCode: closeCode ?? code })
  })
  const told = passOutputs(stream, socket, send)
  Promise.all([stream.ended, told]).then(
    ([end]) => tellEnd(end),
    () => close(1011, 'The output of the command broke off.'),
  )
  return { socket, wire, goesOn: stream.goesOn, closed: closed.promise, close }
}

/**
 * Sends a message past ws, which would copy all of it for one byte before it: 1 GiB of output comes 1.14 to 1.26 times as fast,
 * and takes the agent 1.0 s of a processor instead of 1.2 (`npm run bench -- shortcuts`). A message of ws is on the wire when its
 * `send` returns, since nothing is compressed: this one comes between two of them.
 */
function sendUncopied(wire: Socket, message: { head: Buffer; payload: Uint8Array; onSent: () => void }): void {
  wire.cork()
  wire.write(message.head)
  wire.write(message.payload, message.onSent)
  wire.uncork()
}

/** Resolves when both outputs have ended and are sent, as far as the socket takes them. */
async function passOutputs(
  { stdout, stderr }: CommandStream,
  socket: WebSocket,
  send: (channel: number, payload: Uint8Array, onSent: () => void) => void,
): Promise<void> {
  let isHeld = false
  const onSent = (): void => {
    if (!isHeld || socket.bufferedAmount > RESUME_BYTES) return
    isHeld = false
    stdout.resume()
    stderr.resume()
  }
  const pass = (channel: number, output: Readable): Promise<void> => {
    output.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
        send(channel, chunk.subarray(at, at + FRAME_BYTES), onSent)
      }
      if (isHeld || socket.bufferedAmount <= HOLD_BYTES) return
      isHeld = true
      stdout.pause()
      stderr.pause()
    })
    return endOf(output)
  }
  await Promise.all([pass(CHANNELS.stdout, stdout), pass(CHANNELS.stderr, stderr)])
}

function endOf(output: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    if (output.readableEnded || output.destroyed) resolve()
    output.once('end', resolve)
    output.once('close', resolve)
    output.on('error', reject)
  })
}

/** Gives what the client says to the command; while the command does not read, the client is not read either. */
function createInput({ stdin, terminal }: CommandStream, socket: WebSocket): (frame: ClientFrame) => void {
  const goOn = (): void => socket.resume()
  stdin.on('drain', goOn)
  stdin.once('close', goOn)
  stdin.on('error', goOn)
  return (frame) => {
    if (frame.kind === 'resize') terminal?.resize({ cols: frame.cols, rows: frame.rows })
    if (frame.kind === 'inputEnd') stdin.end()
    if (frame.kind === 'input' && frame.bytes.length > 0 && isWritable(stdin) && !stdin.write(frame.bytes))
      socket.pause()
  }
}

function isWritable(stdin: Writable): boolean {
  return stdin.writable && !stdin.destroyed
}

/**
 * After a second nothing is waited for. Where all went well the client may still be reading what is on its way, so that the
 * connection is only ended, and cut off with the time-out of the closing handshake (30 s).
 */
function endSoon(socket: WebSocket, wire: Socket, code: number): void {
  const timer = setTimeout(() => {
    if (code === 1000) wire.end()
    else socket.terminate()
  }, CLOSE_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

const FRAME_BYTES = 64 * 1024
// What is in flight beyond it is what one read of each output gives.
const HOLD_BYTES = 256 * 1024
const RESUME_BYTES = 128 * 1024
// To copy less costs less than to write twice.
const COPIED_BYTES = 4 * 1024
const TEXT: FrameProtocol = 'v4.base64.channel.k8s.io'
const CLOSE_MS = 1_000
