import { connect } from 'node:net'
import { afterAll, describe, expect, test } from '@jest/globals'
import { netProber } from '../../../agent/drivers/edge/prober.ts'
import { type OddServer, startOddServer } from '../../helpers/edge/odd-server.ts'

const servers: OddServer[] = []
let lastAddress = 1

afterAll(async () => {
  for (const server of servers) await server.close()
})

async function odd(...given: Parameters<typeof startOddServer>): Promise<OddServer> {
  const server = await startOddServer(given[0], given[1] ?? `127.8.2.${++lastAddress}`)
  servers.push(server)
  return server
}

describe('a probe', () => {
  const probe = (port: number, kind: 'http' | 'tcp', address = '127.9.0.1', timeoutMs = 1_000) =>
    netProber.probe({
      ...{ address, port, kind, path: '/', timeoutMs },
      atLoopback: async () => ({ stream: connect(port, '127.0.0.1'), close: () => undefined, reset: () => undefined }),
    })

  test('reaches a server on loopback', async () => {
    const { port } = await odd((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'), '127.0.0.1')
    expect([await probe(port, 'http'), await probe(port, 'tcp')]).toEqual([null, null])
  })

  test.each<[string, Parameters<typeof startOddServer>[0], string]>([
    ['closes', (socket) => socket.end(), 'closed or reset the connection'],
    ['resets', (socket) => socket.resetAndDestroy(), 'closed or reset the connection'],
    ['is no HTTP', (socket) => socket.write('SSH-2.0-x\r\n'), 'not HTTP'],
    [
      'large',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`),
      'head that is too large',
    ],
    [
      'HTTP/2',
      (socket, received) =>
        received.startsWith('PRI') ? socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])) : socket.end(),
      'speaks only HTTP/2',
    ],
    ['silent', () => undefined, 'does not answer within 0.3 s'],
    ['bad', (socket) => socket.end('HTTP/1.1 500 x\r\n\r\n'), 'answers 500 to /'],
  ])('says what is wrong with a server: %s', async (_what, act, words) => {
    const server = await odd(act)
    expect(await probe(server.port, 'http', server.address, 300)).toContain(words)
  })
})
