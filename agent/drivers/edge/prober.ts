import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../../../shared/errors.ts'
import type { Prober, ProbeTarget } from '../../ports/edge/prober.ts'
import { type AnswerFault, answerFaultText, HEAD_BYTES, speaksHttp2 } from './first-answer.ts'

/**
 * Probes with a new connection each time. Uses the loopback of the box if nothing listens at its address. Reads only the status of an HTTP
 * response.
 */
export const netProber: Prober = {
  probe: async (target) => {
    const ending = new AbortController()
    const { promise: late, resolve } = Promise.withResolvers<string>()
    const timer = setTimeout(resolve, target.timeoutMs, lateFault(target))
    try {
      return await Promise.race([late, probe(target, ending.signal)])
    } finally {
      clearTimeout(timer)
      ending.abort()
    }
  },
}

async function probe(target: ProbeTarget, signal: AbortSignal): Promise<string | null> {
  const { port, path } = target
  const opened = await open(target, signal)
  if (typeof opened === 'string') return opened
  if (target.kind === 'tcp') return null
  const answer = await (target.protocol === 'h2c' ? http2AnswerTo(opened, target) : answerTo(opened, target))
  if (typeof answer === 'number')
    return answer >= 200 && answer < 400 ? null : `Port ${port} answers ${answer} to ${path}.`
  if (answer !== 'closed' && answer !== 'not_http') return answerFaultText(answer, port)
  const again = await open(target, signal)
  const isHttp2 = typeof again !== 'string' && (await speaksHttp2(again, target.timeoutMs))
  return answerFaultText(isHttp2 ? 'http2' : answer, port)
}

/** Returns a connection, which `signal` ends, or a description of the fault. */
async function open(target: ProbeTarget, signal: AbortSignal): Promise<Duplex | string> {
  const { port, atLoopback } = target
  const direct = await connectTo(target, signal)
  if (typeof direct !== 'string') return direct
  if (direct !== 'ECONNREFUSED') return `Port ${port} does not answer as it should (${direct}).`
  try {
    const { stream } = (await atLoopback?.()) ?? { stream: null }
    if (stream === null) return `Nothing listens at port ${port}.`
    endWith(stream, signal)
    return stream
  } catch (error) {
    const isListening = error instanceof ServiceError && error.code === 'port_unreachable'
    return isListening ? `Port ${port} does not take connections.` : `Nothing listens at port ${port}.`
  }
}

/** Returns a connection, or the code of the error. */
function connectTo({ address, port }: ProbeTarget, signal: AbortSignal): Promise<Duplex | string> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, noDelay: true })
    endWith(socket, signal)
    socket.once('connect', () => resolve(socket))
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'no connection'))
  })
}

function endWith(stream: Duplex, signal: AbortSignal): void {
  stream.on('error', () => undefined)
  const end = (): void => void stream.destroy()
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}

/** Returns the status of an answer, or its fault. */
function answerTo(stream: Duplex, { address, port, path }: ProbeTarget): Promise<number | AnswerFault> {
  return new Promise((resolve) => {
    const headers = { host: `${address}:${port}`, 'user-agent': 'boxyard-readiness', connection: 'close' }
    const sent = request({ createConnection: () => stream, path, headers, maxHeaderSize: HEAD_BYTES })
    sent.once('response', ({ statusCode = 0 }) => {
      resolve(statusCode)
      stream.destroy()
    })
    sent.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      stream.destroy()
      if (code === 'HPE_HEADER_OVERFLOW') resolve('large_head')
      else resolve(code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE' ? 'not_http' : 'closed')
    })
    sent.end()
  })
}

function http2AnswerTo(stream: Duplex, { address, port, path }: ProbeTarget): Promise<number | AnswerFault> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://${address}:${port}`, { createConnection: () => stream })
    session.on('error', () => resolve('not_http2'))
    session.once('close', () => resolve('not_http2'))
    const sent = session.request({ ':path': path, 'user-agent': 'boxyard-readiness' })
    sent.once('response', ({ ':status': status = 0 }) => {
      resolve(status)
      stream.destroy()
    })
    sent.on('error', () => resolve('not_http2'))
    sent.end()
  })
}

function lateFault({ port, timeoutMs }: ProbeTarget): string {
  return `Port ${port} does not answer within ${timeoutMs / 1000} s.`
}
