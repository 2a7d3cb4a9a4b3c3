import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import type { OpenFlow } from '../../shared/flow-turns.ts'
import type { Intake } from './message-pace.ts'

/** The bytes passed between a client and its peer. `closeCode` is a code of RFC 6455 §7.4. */
export interface BridgeFacts {
  bytesIn: number
  bytesOut: number
  closeCode: number
}

/** The WebSocket of a client, its connection, the intake of its messages, and the flow control of its output. */
export interface ClientEnd {
  socket: WebSocket
  wire: Socket
  intake: Intake
  /** Adds a stream of output to the turns of all of them. */
  openOutput: OpenFlow
}

/** A client's WebSocket, joined to a command, a console or a port. */
export interface StreamBridge {
  readonly socket: WebSocket
  /** The connection of the WebSocket. */
  readonly wire: Socket
  /** As `CommandStream.outlivesClient`. False for a port. */
  readonly outlivesClient: boolean
  /** Resolves once the WebSocket has closed, of a port also its connection. Never rejects. */
  readonly closed: Promise<BridgeFacts>
  /** Disconnects from the command or port and closes the WebSocket. The client has 1 s to answer the close. */
  close(code: number, reason: string): void
}

/**
 * Sends a message without ws, which would copy the whole payload to put one byte before it. This sends 1 GiB of output 1.14 to 1.26 times
 * as fast, and costs the agent 1.0 s of CPU instead of 1.2 (`npm run bench -- shortcuts`). With no compression, a message of ws is on the
 * wire when its `send` returns. So this message comes between two of them.
 */
export function sendUncopied(wire: Socket, message: { head: Buffer; payload: Uint8Array; onSent: () => void }): void {
  wire.cork()
  wire.write(message.head)
  wire.write(message.payload, message.onSent)
  wire.uncork()
}

/** Resolves once an output has ended or closed. */
export function untilOutputEnds(output: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    if (output.readableEnded || output.destroyed) resolve()
    output.once('end', resolve)
    output.once('close', resolve)
    output.on('error', reject)
  })
}

/**
 * Stops waiting for the client's close after 1 s. After a normal end it may still be reading. So the connection is only half-closed, and
 * the time-out of the closing handshake (30 s) cuts it off.
 */
export function endSoon(socket: WebSocket, wire: Socket, code: number): void {
  const timer = setTimeout(() => {
    if (code === 1000) wire.end()
    else socket.terminate()
  }, CLOSE_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Limits the output of a terminal on its way to the client to 256 KiB, so that a key that stops a flood takes effect soon. The buffers of
 * the kernel held up to 27 MB on loopback. Pings mark places in the output, and a client answers each when it reads it.
 */
export class OutputWindow {
  readonly #socket: WebSocket
  #sentBytes = 0
  #markedBytes = 0
  #takenBytes = 0
  readonly #onTaken: () => void
  #hasAnswers = false
  #isOff = false
  #reminder: NodeJS.Timeout | undefined

  /** Calls `onTaken` when the client has taken more. */
  constructor(socket: WebSocket, onTaken: () => void) {
    this.#socket = socket
    this.#onTaken = onTaken
    socket.on('pong', (data: Buffer) => {
      const mark = data.length === MARK_BYTES ? data.readDoubleBE() : 0
      if (!(mark > this.#takenBytes && mark <= this.#markedBytes)) return
      this.#hasAnswers = true
      this.#takenBytes = mark
      onTaken()
    })
    socket.once('close', () => clearTimeout(this.#reminder))
  }

  /** Counts output that was sent. */
  count(bytes: number): void {
    this.#sentBytes += bytes
    if (this.#sentBytes - this.#markedBytes < WINDOW_BYTES / 4) return
    this.#markedBytes = this.#sentBytes
    this.#mark()
    this.#remindLater()
  }

  /**
   * Tests whether more than `bytes` are on their way. Returns false while the agent does not read the client, because it does not see the
   * answers then. A command that waits for its output to leave would never read the input that holds up the client.
   */
  exceeds(bytes: number): boolean {
    return !this.#isOff && this.#sentBytes - this.#takenBytes > bytes && !this.#socket.isPaused
  }

  #mark(): void {
    const mark = Buffer.alloc(MARK_BYTES)
    mark.writeDoubleBE(this.#markedBytes)
    this.#socket.ping(mark)
  }

  #remindLater(): void {
    this.#reminder ??= setTimeout(() => {
      this.#reminder = undefined
      this.#remind()
    }, REMIND_MS).unref()
  }

  /** Resends the last mark, because a peer may answer its newest ping only (RFC 6455, 5.5.3). Gives up a peer that answers none. */
  #remind(): void {
    const { readyState, OPEN, bufferedAmount, isPaused } = this.#socket
    if (this.#isOff || this.#markedBytes <= this.#takenBytes || readyState !== OPEN) return
    if (bufferedAmount === 0 && !isPaused) {
      if (!this.#hasAnswers) {
        this.#isOff = true
        this.#onTaken()
        return
      }
      this.#mark()
    }
    this.#remindLater()
  }
}

/** Bytes that wait for a client before its source is paused, and resumed. One read may exceed it. */
export const PAUSE_BYTES = 256 * 1024
export const RESUME_BYTES = 128 * 1024
/** 2.5 MB a second at a round trip of 100 ms, more than a terminal shows. */
export const WINDOW_BYTES = 256 * 1024
const MARK_BYTES = 8
/** Time for the answer to a mark. A client that answers no mark in this time becomes unlimited. */
export const REMIND_MS = 10_000
const CLOSE_MS = 1_000
