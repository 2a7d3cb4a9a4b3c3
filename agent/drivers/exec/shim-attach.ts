import type { Socket } from 'node:net'
import { Readable, Writable } from 'node:stream'
import { ServiceError } from '../../../shared/errors.ts'
import { readJsonLines, writeJsonLine } from '../../lib/output/json-lines.ts'
import type { AttachedExec, Terminal, Typing } from '../../ports/boxes/runtime.ts'
import { shimFailureOf, tryConnect } from './shim-client.ts'
import {
  createShimFrameReader,
  encodeShimFrame,
  encodeShimFrameHeader,
  FRAME_PAYLOAD_BYTES,
  type Frame,
} from './shim-frames.ts'
import { LINE_BYTES, type ShimMessage, type ShimRequest } from './shim-protocol.ts'

/**
 * Attaches to the command or session `id` of the shim that listens at `path`. Throws `runtime_unavailable` if the shim is unreachable or
 * does not answer within 15 s, `rate_limited`, or `exec_not_found` if it does not have that id (any more).
 */
export async function attachToShim(path: string, id: string, typing: Typing): Promise<AttachedExec> {
  const socket = await tryConnect(path)
  if (socket === null) throw unreachable()
  const answer = await requestAttach(socket, id, typing)
  return createAttached(socket, answer)
}

interface Answer {
  terminal: boolean
  /** The bytes that followed it. */
  rest: Buffer
}

async function requestAttach(socket: Socket, execId: string, typing: Typing): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const close = (): void => reject(unreachable())
  const timer = setTimeout(close, ANSWER_MS)
  socket.once('close', close)
  // The answer follows the inventory, which the shim sends on every connection.
  const lines = readJsonLines(socket, LINE_BYTES, (value) => {
    const message = value as ShimMessage
    if (message.type === 'failed') reject(shimFailureOf(message))
    if (message.type === 'attached') resolve({ terminal: message.terminal, rest: lines.release() })
  })
  writeJsonLine(socket, { type: 'attach', id: 0, execId, typing } satisfies ShimRequest)
  try {
    return await promise
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    socket.off('close', close)
  }
}

function createAttached(socket: Socket, { terminal, rest }: Answer): AttachedExec {
  const outputs = createOutputs(socket)
  if (terminal) outputs.onFrame({ kind: 'stderr', bytes: Buffer.alloc(0) })
  const reader = createShimFrameReader()
  const read = (chunk: Buffer): void => {
    try {
      reader.push(chunk).forEach(outputs.onFrame)
    } catch {
      socket.destroy()
    }
  }
  socket.on('data', read).once('close', outputs.fail)
  // The connection may have closed already.
  if (socket.destroyed) outputs.fail()
  if (rest.length > 0) read(rest)
  if (!outputs.isFull()) socket.resume()
  const { stdout, stderr } = outputs
  return {
    ...{ stdin: createInput(socket), stdout, stderr },
    terminal: terminal ? createResizer(socket) : null,
    close: () => {
      stdout.destroy()
      stderr.destroy()
      closeGracefully(socket, read)
    },
  }
}

// Drains unread output for up to 1 s, because closing with unread bytes would reset the connection, and lose input on its way.
function closeGracefully(socket: Socket, read: (chunk: Buffer) => void): void {
  socket.off('data', read).resume().end()
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS)
  socket.once('close', () => clearTimeout(timer))
}

interface Outputs {
  stdout: Readable
  stderr: Readable
  onFrame(frame: Frame): void
  isFull(): boolean
  /** Fails the outputs that have not ended. */
  fail(): void
}

// Reads the connection while both outputs have space, so a reader must read or destroy each.
function createOutputs(socket: Socket): Outputs {
  const full = new Set<Readable>()
  const ended = new Set<Readable>()
  const goOn = (output: Readable): void => {
    if (full.delete(output) && full.size === 0) socket.resume()
  }
  const create = (): Readable => {
    const output = new Readable({
      highWaterMark: FRAME_PAYLOAD_BYTES,
      read: () => goOn(output),
      destroy: (error, done) => {
        goOn(output)
        done(error)
      },
    })
    return output.on('error', () => undefined)
  }
  const streams = { stdout: create(), stderr: create() }
  return {
    ...streams,
    isFull: () => full.size > 0,
    onFrame: (frame) => {
      if (frame.kind === 'idle') return
      if (frame.kind === 'stdin' || frame.kind === 'resize') throw new Error('a command sends no input frames')
      const output = streams[frame.kind]
      if (output.destroyed || ended.has(output)) return
      if (frame.bytes.length === 0) {
        ended.add(output)
        output.push(null)
      } else if (!output.push(frame.bytes)) {
        full.add(output)
        socket.pause()
      }
    },
    fail: () => {
      for (const output of Object.values(streams)) if (!ended.has(output)) output.destroy(unreachable())
    },
  }
}

// Drops input without an error once the connection is closed.
function createInput(socket: Socket): Writable {
  return new Writable({
    highWaterMark: FRAME_PAYLOAD_BYTES,
    write: (chunk: Buffer, _, done) => {
      const parts: Buffer[] = []
      for (let start = 0; start < chunk.length; start += FRAME_PAYLOAD_BYTES) {
        const bytes = chunk.subarray(start, start + FRAME_PAYLOAD_BYTES)
        parts.push(encodeShimFrameHeader('stdin', bytes.length), bytes)
      }
      send(socket, parts, done)
    },
    final: (done) => send(socket, [encodeShimFrameHeader('stdin', 0)], done),
  })
}

// Keeps only the latest size while the shim does not read, which happens when the program leaves input unread.
function createResizer(socket: Socket): Terminal {
  let latest: Buffer | null = null
  const sendLatest = (): void => {
    if (latest !== null) send(socket, [latest])
    latest = null
  }
  return {
    resize: (size) => {
      const frame = encodeShimFrame({ kind: 'resize', size })
      if (!socket.writableNeedDrain) {
        send(socket, [frame])
        return
      }
      if (latest === null) socket.once('drain', sendLatest)
      latest = frame
    },
  }
}

function send(socket: Socket, parts: readonly Buffer[], done: () => void = () => undefined): void {
  if (!socket.writable || parts.length === 0) {
    done()
    return
  }
  socket.cork()
  for (const [index, part] of parts.entries()) socket.write(part, index === parts.length - 1 ? () => done() : undefined)
  socket.uncork()
}

function unreachable(): ServiceError {
  return new ServiceError('runtime_unavailable', 'The shim of the command is unreachable.')
}

const ANSWER_MS = 15_000
const CLOSE_MS = 1_000
