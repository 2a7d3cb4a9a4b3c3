import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Flow, inLoopTurns, type OpenFlow } from '../../../shared/flow-turns.ts'
import { notePassing } from '../../../shared/http/passing-bytes.ts'
import { repeat } from '../../../shared/repeat.ts'
import { projectOwner } from '../../../shared/rotation.ts'
import { createValve } from '../../../shared/valve.ts'
import type { EdgeReach } from '../../ports/edge/edge.ts'
import { type AnswerFault, judgeAnswer, judgeHttp2Answer } from './first-answer.ts'
import type { ProxyTarget } from './proxy-header.ts'
import type { RequestStart } from './request-start.ts'

/** A request of the edge, and its outcome so far. */
export interface Exchange {
  socket: Socket
  target: ProxyTarget
  start: RequestStart
  sent: Buffer
}

/**
 * Sends the request and forwards the answer once its head is known to be good, then all further bytes in both directions. Resolves to null
 * at the end. If it resolves to a fault, it has forwarded nothing.
 */
export function exchangeBytes(
  exchange: Exchange,
  stream: Duplex,
  { project, boxId }: EdgeReach['owner'],
): Promise<AnswerFault | null> {
  const { socket, start } = exchange
  const open = inLoopTurns(projectOwner(project, boxId))
  const judge = start.isHttp2 ? judgeHttp2Answer : judgeAnswer
  const passage = Promise.withResolvers<AnswerFault | null>()
  let first: Buffer | null = Buffer.alloc(0)
  const kept = start.isHttp2 ? keepBytes(socket) : null
  let hasFailed = false
  const fail = (fault: AnswerFault): void => {
    // The stream closes after a failure as well. By then another answer owns the socket.
    if (hasFailed) return
    hasFailed = true
    socket.off('close', leave)
    stopWatch()
    detach()
    exchange.sent = Buffer.concat([exchange.sent, ...(kept?.end() ?? [])])
    stream.destroy()
    passage.resolve(fault)
  }
  const leave = (): void => {
    stream.destroy()
    passage.resolve(null)
  }
  socket.once('close', leave)
  const stopWatch = watchEdge(exchange)
  stream.on('error', () => (first === null ? socket.destroy() : fail('closed')))
  stream.once('close', () => {
    if (first !== null) fail('closed')
    // Runs after all received bytes have been forwarded.
    else if (stream.readableEnded) socket.end()
    else socket.destroy()
  })
  const look = (piece: Buffer): void => {
    first = first === null ? piece : Buffer.concat([first, piece])
    const judged = judge(first)
    if (judged === null) return
    stream.off('data', look)
    if (judged !== 'http') return fail(judged)
    const head = first
    first = null
    kept?.end()
    passBytes(stream, socket, open)
    socket.write(head)
  }
  stream.once('end', () => {
    if (first !== null) fail('closed')
    else socket.once('finish', () => destroyAfter(socket, start.isLasting ? HALF_CLOSED_MS : LEAVE_MS))
  })
  stream.on('data', look)
  stream.write(exchange.sent)
  const detach = passBytes(socket, stream, open)
  return passage.promise
}

/**
 * Destroys the connection of an edge that has closed it, or was idle for an hour. Ends when the returned function is called.
 *
 * While the box reads nothing, this does not read the connection and does not see its end. An empty write fails once the edge has closed
 * it.
 */
function watchEdge({ socket, start }: Exchange): () => void {
  let [passedBytes, silentMs] = [0, 0]
  const end = (): void => {
    if (!start.isLasting) return void socket.destroy()
    socket.write(NOTHING)
    destroyAfter(socket, HALF_CLOSED_MS)
  }
  const check = (): void => {
    const nowBytes = socket.bytesRead + socket.bytesWritten
    silentMs = nowBytes === passedBytes ? silentMs + CHECK_MS : 0
    passedBytes = nowBytes
    if (silentMs >= IDLE_MS) socket.destroy()
    else if (socket.writable) socket.write(NOTHING)
  }
  const stopChecks = repeat(check, { everyMs: CHECK_MS, onError: () => socket.destroy() })
  const stop = (): void => {
    stopChecks()
    socket.off('end', end)
  }
  socket.once('end', end)
  socket.once('close', stop)
  return stop
}

function destroyAfter(socket: Socket, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Keeps the bytes that a socket receives, until the returned function is called. The edge sends little before the first answer of HTTP/2.
 */
function keepBytes(socket: Socket): { end(): Buffer[] } {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  const keep = (piece: Buffer): void => {
    pieces.push(piece)
    sizeBytes += piece.length
    if (sizeBytes > KEPT_BYTES) socket.destroy()
  }
  socket.on('data', keep)
  return { end: () => (socket.off('data', keep), pieces.splice(0)) }
}

/**
 * Forwards bytes and their end. A slow reader makes the other side wait, and owners take turns. The returned function stops that, and
 * leaves `from` paused.
 */
function passBytes(from: Duplex, to: Duplex, open: OpenFlow): () => void {
  const valve = createValve(from)
  const flow: Flow = open(valve)
  const resume = (): void => valve.release('reader')
  const pass = (piece: Buffer): void => {
    notePassing(piece.length)
    if (to.writable && !to.write(piece)) valve.hold('reader')
    flow.count(piece.length)
  }
  const end = (): void => {
    if (to.writable) to.end()
  }
  to.on('drain', resume)
  // Drops bytes for a reader that has gone, because their end must be seen.
  to.once('close', resume)
  from.on('data', pass)
  from.once('end', end)
  from.once('close', () => flow.close())
  from.resume()
  return () => {
    for (const event of ['drain', 'close']) to.off(event, resume)
    from.off('data', pass)
    from.off('end', end)
    flow.close()
    from.pause()
  }
}

const NOTHING = Buffer.alloc(0)
/** Interval of checks whether the edge is still there. */
const CHECK_MS = 5_000
/** Idle timeout, also for a connection with one direction closed. Same as the edge's own. */
const IDLE_MS = 3_600_000
const HALF_CLOSED_MS = 60_000
const LEAVE_MS = 2_000
/** Far more than the initial windows of HTTP/2 (RFC 9113, 6.9.2), and a buffer of the edge. */
const KEPT_BYTES = 512 * 1024
