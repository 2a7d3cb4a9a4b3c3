import { request } from 'node:http'
import type { EdgeLab } from './lab.ts'

/** Host of a box and address of a client, for tests with two edges. */
export const LED_HOST = 'web--demo.localhost'
export const LED_CLIENT = '127.0.0.77'

/** Answers an edge's questions about hosts of the other edge with the address of that edge. */
export function leadTo(lab: EdgeLab, other: EdgeLab): void {
  lab.decide(({ host, isLed, isOwn }) => {
    if (!isLed && host.includes('--demo')) return { kind: 'lead', to: cellEdgeOf(other) }
    return isOwn ? { kind: 'own' } : { kind: 'answer', status: 404, headers: {}, body: `nobody has ${host}` }
  })
}

export function cellEdgeOf({ edge }: EdgeLab): { address: string; port: number } {
  return { address: '127.0.0.1', port: edge.cellPort ?? 0 }
}

export interface LedRequest {
  host?: string
  path?: string
  method?: string
  headers?: Record<string, string | string[]>
  port: number
}

/** Sends a request from the client's address, by default for the box. */
export function askLed({ host = LED_HOST, path = '/', method = 'GET', headers = {}, port }: LedRequest) {
  return new Promise<{ status: number; text: string; type: string | undefined }>((resolve, reject) => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port, localAddress: LED_CLIENT, agent: false, path, method },
      headers: { host, ...headers },
    })
    outgoing.once('error', reject)
    outgoing.once('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text, type: answer.headers['content-type'] }))
    })
    outgoing.end()
  })
}
