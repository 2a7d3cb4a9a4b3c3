import { request } from 'node:http'
import { connect } from 'node:net'
import type { Prober, ProbeTarget } from '../../ports/edge/prober.ts'

/** Looks by a connection of its own each time, which is closed at once; of an answer only the status is read. */
export const netProber: Prober = {
  look: (target) => (target.kind === 'tcp' ? lookTcp(target) : lookHttp(target)),
}

function lookTcp({ address, port, timeoutMs }: ProbeTarget): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, noDelay: true })
    const end = (fault: string | null): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(fault)
    }
    const timer = setTimeout(() => end(tooLate(port, timeoutMs)), timeoutMs)
    socket.once('connect', () => end(null))
    socket.on('error', (error) => end(explain(error, port)))
  })
}

function lookHttp({ address, port, path, timeoutMs }: ProbeTarget): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { host: `${address}:${port}`, 'user-agent': 'boxyard-readiness', connection: 'close' }
    const asked = request({ host: address, port, path, headers, agent: false, maxHeaderSize: HEADER_BYTES })
    const end = (fault: string | null): void => {
      clearTimeout(timer)
      asked.destroy()
      resolve(fault)
    }
    const timer = setTimeout(() => end(tooLate(port, timeoutMs)), timeoutMs)
    asked.once('response', ({ statusCode = 0 }) => {
      end(statusCode >= 200 && statusCode < 400 ? null : `Port ${port} answers ${statusCode} to ${path}.`)
    })
    asked.on('error', (error) => end(explain(error, port)))
    asked.end()
  })
}

function tooLate(port: number, timeoutMs: number): string {
  return `Port ${port} does not answer within ${timeoutMs / 1000} s.`
}

function explain(error: NodeJS.ErrnoException, port: number): string {
  if (error.code === 'ECONNREFUSED') return `Nothing listens at port ${port}.`
  return `Port ${port} does not answer as it should (${error.code ?? 'no HTTP'}).`
}

const HEADER_BYTES = 16 * 1024
