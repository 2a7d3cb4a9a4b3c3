import { request } from 'node:http'
import { connect } from 'node:net'
import type { Prober, ProbeTarget } from '../../ports/edge/prober.ts'

/** Probes with a new connection each time; of an HTTP response reads only the status. */
export const netProber: Prober = {
  probe: (target) => (target.kind === 'tcp' ? probeTcp(target) : probeHttp(target)),
}

function probeTcp({ address, port, timeoutMs }: ProbeTarget): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, noDelay: true })
    const end = (fault: string | null): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(fault)
    }
    const timer = setTimeout(() => end(timeoutFault(port, timeoutMs)), timeoutMs)
    socket.once('connect', () => end(null))
    socket.on('error', (error) => end(faultOf(error, port)))
  })
}

function probeHttp({ address, port, path, timeoutMs }: ProbeTarget): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { host: `${address}:${port}`, 'user-agent': 'boxyard-readiness', connection: 'close' }
    const outgoing = request({ host: address, port, path, headers, agent: false, maxHeaderSize: HEADER_BYTES })
    const end = (fault: string | null): void => {
      clearTimeout(timer)
      outgoing.destroy()
      resolve(fault)
    }
    const timer = setTimeout(() => end(timeoutFault(port, timeoutMs)), timeoutMs)
    outgoing.once('response', ({ statusCode = 0 }) => {
      end(statusCode >= 200 && statusCode < 400 ? null : `Port ${port} answers ${statusCode} to ${path}.`)
    })
    outgoing.on('error', (error) => end(faultOf(error, port)))
    outgoing.end()
  })
}

function timeoutFault(port: number, timeoutMs: number): string {
  return `Port ${port} does not answer within ${timeoutMs / 1000} s.`
}

function faultOf(error: NodeJS.ErrnoException, port: number): string {
  if (error.code === 'ECONNREFUSED') return `Nothing listens at port ${port}.`
  return `Port ${port} does not answer as it should (${error.code ?? 'no HTTP'}).`
}

const HEADER_BYTES = 16 * 1024
