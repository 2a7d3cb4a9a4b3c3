import { ServiceError } from '../../shared/errors.ts'
import { notePassing } from '../../shared/http/passing-bytes.ts'
import { PORT_END } from '../../shared/http/port-frames.ts'
import { createValve } from '../../shared/valve.ts'
import type { PortConnection } from '../ports/boxes/port-connection.ts'
import {
  type BridgeFacts,
  type ClientEnd,
  endSoon,
  PAUSE_BYTES,
  RESUME_BYTES,
  type StreamBridge,
  sendUncopied,
} from './bridge.ts'
import { messageHead } from './message-head.ts'
import type { Intake } from './message-pace.ts'

/**
 * Passes bytes and the end of each direction between a client and a port of a box. A slow reader makes the other side wait, with at most
 * 512 KiB in memory and one message of the client's. Closes with 1000 once both directions have ended, with 1011 if the connection
 * breaks off. A client that leaves without a close of its own resets the connection.
 */
export function bridgePort(client: ClientEnd, connection: PortConnection): StreamBridge {
  const { socket, wire, intake } = client
  const { stream } = connection
  const facts = { bytesIn: 0, bytesOut: 0 }
  const socketClosed = Promise.withResolvers<number>()
  const streamClosed = Promise.withResolvers<void>()
  let isOver = false
  let closeCode: number | null = null
  const finish = (code: number, reason: string): void => {
    if (isOver) return
    isOver = true
    if (code !== 1000) connection.reset()
    // A paused socket would not read the client's close.
    intake.end()
    closeCode = code
    socket.close(code, reason)
    endSoon(socket, wire, code)
  }
  const take = createInput({ intake, connection, close: finish })
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isOver) return
    if (isBinary) facts.bytesIn += data.length
    take(data, isBinary)
  })
  // ws closes the socket itself, with the code of the error.
  socket.on('error', () => {
    if (isOver) return
    isOver = true
    connection.reset()
    intake.end()
    endSoon(socket, wire, 1002)
  })
  socket.once('close', (code: number) => {
    if (!isOver && POLITE.has(code)) connection.close()
    else if (closeCode !== 1000) connection.reset()
    isOver = true
    socketClosed.resolve(closeCode ?? code)
  })
  const outputSent = passOutput(connection, { ...client, count: (size) => void (facts.bytesOut += size) })
  stream.on('error', (error) => finish(1011, error instanceof ServiceError ? error.message : BROKEN))
  const onClosed = (): void => {
    streamClosed.resolve()
    // Closes only after the client has read everything up to the end.
    if (stream.readableEnded && !stream.errored) void outputSent.then(() => finish(1000, ''))
    else finish(1011, stream.errored instanceof ServiceError ? stream.errored.message : BROKEN)
  }
  if (stream.closed) onClosed()
  else stream.once('close', onClosed)
  const closed = Promise.all([socketClosed.promise, streamClosed.promise]).then(
    ([code]): BridgeFacts => ({ ...facts, closeCode: code }),
  )
  return { socket, wire, outlivesClient: false, closed, close: finish }
}

interface InputEnds {
  intake: Intake
  connection: PortConnection
  close(code: number, reason: string): void
}

/** Returns a function that writes a client's messages to the port. Pauses the client while the program does not read. */
function createInput({ intake, connection, close }: InputEnds): (data: Buffer, isBinary: boolean) => void {
  const { stream } = connection
  let hasEnded = false
  stream.on('drain', () => intake.resume())
  return (data, isBinary) => {
    if (!isBinary && (data.length !== PORT_END.length || data.toString() !== PORT_END))
      close(1003, `A text message other than "${PORT_END}".`)
    else if (hasEnded && data.length > 0) close(1002, `A message after "${PORT_END}".`)
    else if (!isBinary) {
      hasEnded = true
      stream.end()
    } else if (data.length > 0 && stream.writable) {
      // The same amount was read before, because ws makes a message of the connection's bytes.
      notePassing(2 * data.length)
      if (!stream.write(data)) intake.pause()
    }
  }
}

/** Resolves once all output of the program, and its end, is sent, as far as the socket takes it. */
function passOutput(
  { stream }: PortConnection,
  to: Omit<ClientEnd, 'intake'> & { count(sizeBytes: number): void },
): Promise<void> {
  const { socket, wire, openOutput, count } = to
  const sent = Promise.withResolvers<void>()
  const valve = createValve(stream)
  const flow = openOutput(valve)
  const onSent = (): void => {
    if (socket.bufferedAmount <= RESUME_BYTES) valve.release('reader')
  }
  stream.on('data', (payload: Buffer) => {
    if (socket.readyState !== socket.OPEN) return
    count(payload.length)
    notePassing(payload.length)
    sendUncopied(wire, { head: messageHead(payload.length, null), payload, onSent })
    if (socket.bufferedAmount > PAUSE_BYTES) valve.hold('reader')
    flow.count(payload.length)
  })
  stream.once('close', flow.close)
  stream.once('end', () => {
    if (socket.readyState === socket.OPEN) socket.send(PORT_END, () => sent.resolve())
    else sent.resolve()
  })
  return sent.promise
}

/** Codes of clients that are done and closed the WebSocket themselves. */
const POLITE: ReadonlySet<number> = new Set([1000, 1001, 1005])
const BROKEN = 'The connection was interrupted.'
