import type { FrameProtocol } from '../../shared/http/exec-frames.ts'
import type { CommandStream } from '../core/exec/command-stream.ts'
import { type BridgeFacts, type ClientEnd, endSoon, type StreamBridge } from './bridge.ts'
import { bridgeStream } from './stream-bridge.ts'

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
