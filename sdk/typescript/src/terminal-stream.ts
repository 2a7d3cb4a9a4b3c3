import { ConnectionError, OverflowError } from './api-error.ts'
import { CHANNEL, type ChannelSocket, type Frame } from './channel-socket.ts'
import { type ExecEnd, endOfStatus } from './exec-ends.ts'
import { OVERFLOW } from './message-socket.ts'

/** Output of a command, in its order of arrival. */
export interface OutputPiece {
  stream: 'stdout' | 'stderr'
  bytes: Uint8Array
}

/** A running command or an attached console. Iterate over its output, then ask for its end. */
export interface TerminalStream extends AsyncIterable<OutputPiece> {
  /** Id of the exec record or session. Null for a session in a browser, which hides headers. */
  readonly id: string | null
  /** Sends input, and waits until it is on its way. */
  write(bytes: Uint8Array): Promise<void>
  /** Ends the input. */
  endInput(): Promise<void>
  /** Sends bytes to a connection that `sshAgent` was called with. Sending no bytes closes it. */
  answerAgent(connection: number, bytes: Uint8Array): Promise<void>
  /** Sets the size of the terminal in characters. */
  resize(cols: number, rows: number): Promise<void>
  /** Asks the service to answer, and resolves once anything has arrived from it. This only works while the output is being read. */
  ping(): Promise<void>
  /** Reads the rest of the output unless you iterate over it, and returns how it ended. @throws ConnectionError, OverflowError */
  ended(): Promise<ExecEnd>
  /** Closes the stream. `noHup` decides what happens to the command. */
  close(): void
}

/** Resumes the output of a command from these offsets after its socket was lost, and returns its end. */
export type Resume = (
  id: string,
  offsets: Record<OutputPiece['stream'], number>,
) => AsyncGenerator<OutputPiece, ExecEnd>

/**
 * Says what to do when a socket is lost. A function resumes the stream. Null ends the stream with an error. `anew` also ends it with an
 * error, and after an overflow discards output that the caller has not read.
 */
export type Loss = Resume | 'anew' | null

/** Receives what a program of the box sends to the client's SSH agent, by connection. No bytes mean that the program sends no more. */
export type AgentListener = (connection: number, bytes: Uint8Array) => void

/** Creates the stream of a socket. */
export function createTerminalStream(socket: ChannelSocket, loss: Loss, onAgent?: AgentListener): TerminalStream {
  let end: ExecEnd | null = null
  let isClosing = false
  let onFrame = (): void => undefined
  const output = (async function* (): AsyncGenerator<OutputPiece> {
    const onFrameOf = (frame: Frame): void => {
      onFrame()
      if (frame.channel === CHANNEL.agent && frame.bytes.length >= NUMBER_BYTES) onAgent?.(...agentDataOf(frame.bytes))
    }
    end = yield* readPieces(socket, loss, { isClosing: () => isClosing, onFrame: onFrameOf })
  })()
  return {
    id: socket.id,
    [Symbol.asyncIterator]: () => output,
    write: async (bytes) => {
      for (let at = 0; at < bytes.length; at += MESSAGE_BYTES)
        await socket.send(CHANNEL.stdin, bytes.subarray(at, at + MESSAGE_BYTES))
    },
    endInput: () => socket.send(CHANNEL.close, Uint8Array.of(CHANNEL.stdin)),
    answerAgent: async (connection, bytes) => {
      // Sends one message even without bytes.
      for (let at = 0; at === 0 || at < bytes.length; at += MESSAGE_BYTES)
        await socket.send(CHANNEL.agent, agentData(connection, bytes.subarray(at, at + MESSAGE_BYTES)))
    },
    resize: (cols, rows) =>
      socket.send(CHANNEL.resize, new TextEncoder().encode(JSON.stringify({ Width: cols, Height: rows }))),
    ping: async () => {
      const heard = new Promise<void>((resolve) => {
        const before = onFrame
        onFrame = () => {
          onFrame = before
          resolve()
          before()
        }
      })
      await socket.send(CHANNEL.stdin, new Uint8Array())
      await heard
    },
    ended: async () => {
      while (end === null && (await output.next()).done !== true);
      if (end === null) throw new ConnectionError('The output was not read to its end.')
      return end
    },
    close: () => {
      isClosing = true
      socket.close()
    },
  }
}

async function* readPieces(
  socket: ChannelSocket,
  loss: Loss,
  { isClosing, onFrame }: { isClosing(): boolean; onFrame(frame: Frame): void },
): AsyncGenerator<OutputPiece, ExecEnd> {
  const offsets = { stdout: 0, stderr: 0 }
  let left: Frame | null = null
  const hasOverflowed = (): boolean => socket.closed()?.code === OVERFLOW
  // A client that attaches again gets this output again.
  while (loss !== 'anew' || !hasOverflowed()) {
    const first: Frame | null = left ?? (await socket.receive())
    if (first === null) break
    onFrame(first)
    const { frame, next } = joinReady(first, socket)
    left = next
    if (frame.channel === CHANNEL.status) {
      // No frame follows and no reader is left, so a later abort has nothing to end.
      socket.close()
      return endOfStatus(frame.bytes)
    }
    if (frame.bytes.length === 0 || (frame.channel !== CHANNEL.stdout && frame.channel !== CHANNEL.stderr)) continue
    const stream = frame.channel === CHANNEL.stdout ? 'stdout' : 'stderr'
    offsets[stream] += frame.bytes.length
    yield { stream, bytes: frame.bytes }
  }
  if (isClosing()) return { exitCode: null, message: 'The client disconnected.' }
  if (typeof loss === 'function' && socket.id !== null) return yield* loss(socket.id, offsets)
  const reason = socket.closed()?.reason || 'The connection was lost.'
  throw hasOverflowed() ? new OverflowError(reason) : new ConnectionError(reason)
}

/**
 * Joins the output that has arrived of one stream, up to JOINED_BYTES. Commands write in pieces of a few KiB, and each costs the reader as
 * much as a long one. Also returns the frame after it if one was read.
 */
function joinReady(first: Frame, socket: ChannelSocket): { frame: Frame; next: Frame | null } {
  const { channel } = first
  if (channel !== CHANNEL.stdout && channel !== CHANNEL.stderr) return { frame: first, next: null }
  const pieces = [first.bytes]
  let length = first.bytes.length
  let next: Frame | null = null
  while (length < JOINED_BYTES) {
    next = socket.receiveReady()
    if (next === null || next.channel !== channel || length + next.bytes.length > JOINED_BYTES) break
    pieces.push(next.bytes)
    length += next.bytes.length
    next = null
  }
  if (pieces.length === 1) return { frame: first, next }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return { frame: { channel, bytes }, next }
}

function agentDataOf(payload: Uint8Array): [connection: number, bytes: Uint8Array] {
  const connection = new DataView(payload.buffer, payload.byteOffset, NUMBER_BYTES).getUint32(0)
  return [connection, payload.subarray(NUMBER_BYTES)]
}

function agentData(connection: number, bytes: Uint8Array): Uint8Array {
  const payload = new Uint8Array(NUMBER_BYTES + bytes.length)
  new DataView(payload.buffer).setUint32(0, connection)
  payload.set(bytes, NUMBER_BYTES)
  return payload
}

const NUMBER_BYTES = 4
const JOINED_BYTES = 64 * 1024
/** Below the longest message that the service accepts. */
const MESSAGE_BYTES = 256 * 1024
