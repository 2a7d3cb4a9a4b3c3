import type { Writable } from 'node:stream'
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
import { createValve } from '../../shared/valve.ts'
import type { CommandStream, StreamEnd } from '../core/exec/command-stream.ts'
import type { TerminalSize } from '../ports/boxes/runtime.ts'
import {
  type BridgeFacts,
  type ClientEnd,
  endSoon,
  OutputWindow,
  PAUSE_BYTES,
  RESUME_BYTES,
  type StreamBridge,
  sendUncopied,
  untilOutputEnds,
  WINDOW_BYTES,
} from './bridge.ts'
import { messageHead } from './message-head.ts'
import type { Intake } from './message-pace.ts'

export interface BridgeEnds {
  stream: CommandStream
  protocol: FrameProtocol
}

/**
 * Passes bytes both ways. A slow reader makes the other side wait, with at most 512 KiB of each direction in memory and one
 * message of the client's. Once the command has ended and its output is sent, sends its status and closes the socket.
 * OutputWindow bounds the output of a terminal further.
 */
export function bridgeStream(client: ClientEnd, { stream, protocol }: BridgeEnds): StreamBridge {
  const { socket, wire, intake, openOutput } = client
  const facts = { bytesIn: 0, bytesOut: 0 }
  const closed = Promise.withResolvers<BridgeFacts>()
  let isOver = false
  let closeCode: number | null = null
  /** Stops passing bytes. A command that has ended is not disconnected, so that processes it left running continue. */
  const release = (hasEnded: boolean): boolean => {
    if (isOver) return false
    isOver = true
    if (hasEnded) stream.stdin.destroy()
    else stream.disconnect()
    // A paused socket would not read the client's close.
    intake.end()
    input.end()
    return true
  }
  const closeWith = (code: number, reason: string): void => {
    closeCode ??= code
    socket.close(code, reason)
    endSoon(socket, wire, code)
  }
  const close = (code: number, reason: string): void => {
    if (release(false)) closeWith(code, reason)
  }
  const send = (channel: number, payload: Uint8Array, onSent: () => void): void => {
    facts.bytesOut += payload.length
    notePassing(payload.length)
    if (protocol !== TEXT && payload.length >= COPIED_BYTES && socket.readyState === socket.OPEN) {
      sendUncopied(wire, { head: messageHead(payload.length, channel), payload, onSent })
      return
    }
    const frame = encodeFrame(protocol, channel, payload)
    socket.send(frame, { binary: typeof frame !== 'string' }, onSent)
  }
  const sendStatus = (end: StreamEnd): void => {
    if (!release(true)) return
    const status = Buffer.from(JSON.stringify(statusOf(end)))
    // Closes only after the client has read everything up to the status.
    send(CHANNELS.status, status, () => closeWith(1000, ''))
  }
  const answer = (): void => void (socket.bufferedAmount === 0 && send(CHANNELS.stdout, EMPTY, () => undefined))
  const input = createInput(stream, { intake, answer, onPause: () => outputs.resume() })
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isOver) return
    facts.bytesIn += data.length
    // The same amount was read before, because ws makes a message of the connection's bytes.
    notePassing(2 * data.length)
    try {
      input.take(decodeFrame(protocol, data, !isBinary))
    } catch (error) {
      if (error instanceof FrameFault) close(error.closeCode, error.message)
      else close(1011, 'The input did not reach the command.')
    }
  })
  // ws closes the socket itself, with the code of the error.
  socket.on('error', () => {
    if (release(false)) endSoon(socket, wire, 1002)
  })
  socket.once('close', (code: number) => {
    release(false)
    closed.resolve({ ...facts, closeCode: closeCode ?? code })
  })
  const outputs = passOutputs(stream, { socket, openOutput }, send)
  Promise.all([stream.ended, outputs.sent]).then(
    ([end]) => sendStatus(end),
    () => close(1011, 'The output of the command was interrupted.'),
  )
  return { socket, wire, outlivesClient: stream.outlivesClient, closed: closed.promise, close }
}

/** Sends all outputs. `sent` resolves once they have ended and are sent, as far as the socket takes them. */
function passOutputs(
  { stdout, stderr, agent, comesByTurns, terminal }: CommandStream,
  { socket, openOutput }: Pick<ClientEnd, 'socket' | 'openOutput'>,
  send: (channel: number, payload: Uint8Array, onSent: () => void) => void,
): Outputs {
  const outputs = [
    { channel: CHANNELS.stdout, valve: createValve(stdout) },
    { channel: CHANNELS.stderr, valve: createValve(stderr) },
    ...(agent === undefined ? [] : [{ channel: CHANNELS.agent, valve: createValve(agent.output) }]),
  ]
  let isBehind = false
  const resume = (): void => {
    if (!isBehind || socket.bufferedAmount > RESUME_BYTES || window?.exceeds(WINDOW_BYTES / 2) === true) return
    isBehind = false
    for (const { valve } of outputs) valve.release('reader')
  }
  const window = terminal === null ? null : new OutputWindow(socket, resume)
  const pass = async ({ channel, valve }: (typeof outputs)[number]): Promise<void> => {
    const flow = comesByTurns && channel !== CHANNELS.agent ? null : openOutput(valve)
    valve.stream.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
        send(channel, chunk.subarray(at, at + FRAME_BYTES), resume)
      }
      flow?.count(chunk.length)
      window?.count(chunk.length)
      const isAhead = socket.bufferedAmount > PAUSE_BYTES || window?.exceeds(WINDOW_BYTES) === true
      if (isBehind || !isAhead) return
      isBehind = true
      for (const each of outputs) each.valve.hold('reader')
    })
    await untilOutputEnds(valve.stream).finally(() => flow?.close())
  }
  return { sent: Promise.all(outputs.map(pass)), resume }
}

interface Outputs {
  sent: Promise<unknown>
  /** Resumes reading where nothing holds it back. */
  resume(): void
}

/**
 * Writes the client's input to the command. Pauses the client while the command does not read. Of sizes that come faster than every 20
 * ms, or than the input after them, the last counts. An input without bytes asks for an answer, as browsers see no pings of the protocol.
 * The answer is output that is queued already, else one without bytes.
 */
function createInput(
  { stdin, terminal, agent }: CommandStream,
  { intake, answer, onPause }: { intake: Intake; answer(): void; onPause(): void },
): ClientInput {
  const sizes = createSizes((size) => terminal?.resize(size))
  const resume = (): void => intake.resume()
  stdin.on('drain', resume)
  stdin.once('close', resume)
  stdin.on('error', resume)
  const take = (frame: ClientFrame): void => {
    if (frame.kind === 'resize') sizes.take({ cols: frame.cols, rows: frame.rows })
    if (frame.kind === 'inputEnd') stdin.end()
    if (frame.kind === 'agent' && agent === undefined) throw new FrameFault(1008, 'channel 5 needs ssh_agent=true')
    if (frame.kind === 'agent') agent?.take(frame.connection, frame.bytes)
    if (frame.kind !== 'input') return
    if (frame.bytes.length === 0) return answer()
    if (!isWritable(stdin)) return
    sizes.flush()
    if (stdin.write(frame.bytes)) return
    intake.pause()
    onPause()
  }
  return { take, end: sizes.end }
}

/** Takes the frames of a client until `end`. */
interface ClientInput {
  take(frame: ClientFrame): void
  end(): void
}

/** Passes the first size on at once. Passes the last of those that follow, at the latest 20 ms after the one before. */
function createSizes(resize: (size: TerminalSize) => void) {
  let next: TerminalSize | null = null
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    if (next === null) return
    resize(next)
    next = null
  }
  const rest = (): void => {
    timer = undefined
    if (next === null) return
    flush()
    timer = setTimeout(rest, RESIZE_MS).unref()
  }
  return {
    take: (size: TerminalSize): void => {
      next = size
      if (timer === undefined) rest()
    },
    flush,
    end: () => clearTimeout(timer),
  }
}

function isWritable(stdin: Writable): boolean {
  return stdin.writable && !stdin.destroyed
}

/** A command whose client sends it in the first message. */
export interface LateStart {
  protocol: FrameProtocol
  /** Id of the command. */
  id: string
  outlivesClient: boolean
  /** Validates the message and starts the command. @throws ServiceError */
  start(message: Buffer): Promise<CommandStream>
  /** Logs a refusal, and returns its problem as JSON. */
  explain(error: unknown): string
}

/**
 * Starts the command that the first message has, answers with its id or a problem in a text message, and joins the client to it.
 * Closes with 1008 after a problem, and for a client that sends nothing within 30 s.
 */
export function bridgeStart(client: ClientEnd, late: LateStart): StreamBridge {
  const { socket, wire, intake } = client
  const closed = Promise.withResolvers<BridgeFacts>()
  /** Messages that were read before the command ran, of at most one chunk of the connection. */
  const early: [data: Buffer, isBinary: boolean][] = []
  let joined: StreamBridge | null = null
  let hasStart = false
  let bytesIn = 0
  let closeCode: number | null = null

  const close = (code: number, reason: string): void => {
    if (joined !== null) return joined.close(code, reason)
    closeCode ??= code
    intake.end()
    socket.close(code, reason)
    endSoon(socket, wire, code)
  }
  const join = (stream: CommandStream): void => {
    if (socket.readyState !== socket.OPEN) return stream.disconnect()
    socket.off('message', take)
    socket.send(JSON.stringify({ id: stream.id }))
    joined = bridgeStream(client, { stream, protocol: late.protocol })
    void joined.closed.then((facts) => closed.resolve({ ...facts, bytesIn: facts.bytesIn + bytesIn }))
    intake.resume()
    for (const message of early) socket.emit('message', ...message)
  }
  const refuse = (error: unknown): void => {
    const problem = late.explain(error)
    if (socket.readyState === socket.OPEN) socket.send(problem)
    close(POLICY_VIOLATION, 'The command was not started.')
  }
  const take = (data: Buffer, isBinary: boolean): void => {
    if (closeCode !== null) return
    if (hasStart) return void early.push([data, isBinary])
    hasStart = true
    bytesIn = data.length
    clearTimeout(timer)
    intake.pause()
    late.start(data).then(join).catch(refuse)
  }
  const timer = setTimeout(
    () => close(POLICY_VIOLATION, 'No message with a command came within 30 s.'),
    START_MS,
  ).unref()
  socket.on('message', take)
  // ws closes the socket itself, with the code of the error.
  socket.on('error', () => endSoon(socket, wire, 1002))
  socket.once('close', (code: number) => {
    clearTimeout(timer)
    if (joined === null) closed.resolve({ bytesIn, bytesOut: 0, closeCode: closeCode ?? code })
  })
  return { socket, wire, outlivesClient: late.outlivesClient, closed: closed.promise, close }
}

/** RFC 6455, 7.4.1. */
const POLICY_VIOLATION = 1008
const START_MS = 30_000
const RESIZE_MS = 20
const FRAME_BYTES = 64 * 1024
const EMPTY = new Uint8Array()
// Copying so few bytes costs less than a second write.
const COPIED_BYTES = 4 * 1024
const TEXT: FrameProtocol = 'v4.base64.channel.k8s.io'
