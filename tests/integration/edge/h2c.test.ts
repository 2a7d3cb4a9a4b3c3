import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { netProber } from '../../../agent/drivers/edge/prober.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab } from '../../helpers/edge/lab.ts'
import { startOddServer } from '../../helpers/edge/odd-server.ts'

const HOST = 'grpc--demo.localhost'
const OWN = '127.8.1.1'

let directory: string
let lab: EdgeLab
let secure: EdgeLab
let port: number
let seen: IncomingHttpHeaders[]
const ends: (() => unknown)[] = []

/** Frames a message as gRPC does: a flag for no compression, the length, the bytes. */
function framed(text: string): Buffer {
  const body = Buffer.from(text)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

/** A gRPC method that answers each message at once, and ends with the status in trailers. */
function echo(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  seen.push(headers)
  stream.on('error', () => undefined)
  if (headers[':path'] === '/fails') {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true })
    return
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'well done' }))
  stream.on('data', (piece: Buffer) => stream.write(piece))
  stream.on('end', () => stream.end())
}

async function startHttp2(address: string): Promise<number> {
  const made = createServer()
  made.on('stream', echo)
  made.on('session', (session) => session.on('error', () => undefined))
  await new Promise<void>((resolve) => made.listen(0, address, resolve))
  ends.push(() => made.close())
  return (made.address() as AddressInfo).port
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-certificates-'))
  const served = join(directory, 'served')
  mkdirSync(served)
  const { cert, key } = makeCertificate(directory, 'edge')
  writeFileSync(join(served, 'edge.pem'), `${cert}${key}`)
  port = await startHttp2(OWN)
  lab = createEdgeLab()
  secure = createEdgeLab({ certificates: served, scheme: 'https' })
  for (const each of [lab, secure]) {
    await each.open({ routes: [each.route(HOST, { address: OWN, port }, { protocol: 'h2c' })] })
  }
})
afterAll(async () => {
  for (const end of ends) end()
  await lab.close()
  await secure.close()
  rmSync(directory, { recursive: true, force: true })
})

interface Called {
  status: number
  trailers: IncomingHttpHeaders
  body: Buffer
}

/** Calls a method with messages. Sends each message after the answer to the last one. */
async function call(to: 'plain' | 'TLS', path: string, messages: string[], host = HOST): Promise<Called> {
  const scheme = to === 'plain' ? 'http' : 'https'
  const { edge } = to === 'plain' ? lab : secure
  const session: ClientHttp2Session = connect(`${scheme}://127.0.0.1:${edge.port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  try {
    return await new Promise<Called>((resolve, reject) => {
      const head = {
        ':path': path,
        ':method': 'POST',
        ':authority': host,
        'content-type': 'application/grpc',
        te: 'trailers',
      }
      const stream = session.request(head)
      const called: Called = { status: 0, trailers: {}, body: Buffer.alloc(0) }
      const left = messages.map(framed)
      const next = (): void => {
        const message = left.shift()
        if (message === undefined) stream.end()
        else stream.write(message)
      }
      stream.on('response', (headers) => Object.assign(called, { status: headers[':status'], trailers: headers }))
      stream.on('trailers', (trailers) => Object.assign(called, { trailers }))
      stream.on('data', (piece: Buffer) => {
        called.body = Buffer.concat([called.body, piece])
        next()
      })
      stream.on('error', reject)
      stream.on('end', () => setImmediate(resolve, called))
      next()
    })
  } finally {
    session.destroy()
  }
}

describe.each(['plain', 'TLS'] as const)('a port of HTTP/2 without TLS, asked over %s', (to) => {
  test('takes a call of gRPC with both streams open, and passes trailers on', async () => {
    seen = []
    const messages = ['one', 'x'.repeat(40_000), 'three']
    const { status, trailers, body } = await call(to, '/echo.Echo/Say', messages)
    expect([status, trailers['grpc-status'], trailers['grpc-message']]).toEqual([200, '0', 'well done'])
    expect(body.equals(Buffer.concat(messages.map(framed)))).toBe(true)
    expect(seen).toMatchObject([
      {
        ':path': '/echo.Echo/Say',
        ':method': 'POST',
        ':authority': HOST,
        te: 'trailers',
        'x-forwarded-for': '127.0.0.1',
      },
    ])
  })

  test('passes on an answer of trailers alone', async () => {
    expect(await call(to, '/fails', ['one'])).toMatchObject({ status: 200, trailers: { 'grpc-status': '5' } })
  })
})

test('a client of HTTP/1.1 is answered as well', async () => {
  const answer = await lab.ask(['POST / HTTP/1.1', `host: ${HOST}`, 'content-length: 3'], 'abc')
  expect([answer.status, answer.body.includes('abc')]).toEqual([200, true])
})

test('one on loopback is reached', async () => {
  const inside = await startHttp2('127.0.0.1')
  const address = '127.9.1.2'
  lab.loopback.set(`${address}:${inside}`, inside)
  await lab.edge.change({ set: [lab.route('in.localhost', { address, port: inside }, { protocol: 'h2c' })] })
  const { status, trailers, body } = await call('plain', '/a', ['one', 'two'], 'in.localhost')
  expect([status, trailers['grpc-status'], body.length]).toEqual([200, '0', 16])
})

describe('where it is not one', () => {
  const ask = async (to: { address: string; port: number }): Promise<[number, string]> => {
    await lab.edge.change({ set: [lab.route('odd.localhost', to, { protocol: 'h2c' })] })
    const answer = await lab.ask(['GET / HTTP/1.1', 'host: odd.localhost'])
    return [answer.status, (JSON.parse(answer.body) as { detail: string }).detail]
  }

  test('nothing listens', async () => {
    expect(await ask({ address: '127.9.1.3', port: 9 })).toEqual([502, 'Nothing answers on port 9 of this box.'])
    const called = await call('plain', '/a', ['one'], 'odd.localhost')
    expect([called.status, called.body.toString()]).toEqual([502, expect.stringContaining('Nothing answers on port 9')])
  })

  test.each([OWN, '127.0.0.1'])('the server speaks HTTP/1.1, at %s', async (where) => {
    const plain = createHttpServer((_incoming, outgoing) => outgoing.end('old'))
    await new Promise<void>((resolve) => plain.listen(0, where, resolve))
    ends.push(() => (plain.close(), plain.closeAllConnections()))
    const at = (plain.address() as AddressInfo).port
    const address = where === OWN ? where : '127.9.1.4'
    lab.loopback.set(`${address}:${at}`, at)
    const [status, detail] = await ask({ address, port: at })
    expect([status, detail]).toEqual([502, expect.stringContaining('does not speak HTTP/2 without TLS (h2c)')])
    expect(detail).toContain(`port ${at} of this box`)
  })

  test('the server answers only once a large message has come, which is not lost for the answer of the edge', async () => {
    const odd = await startOddServer((socket) => setTimeout(() => socket.end('220 mail\r\n'), 300), '127.0.0.1')
    ends.push(() => odd.close())
    const to = { address: '127.9.1.5', port: odd.port }
    lab.loopback.set(`${to.address}:${to.port}`, to.port)
    await lab.edge.change({ set: [lab.route('late.localhost', to, { protocol: 'h2c' })] })
    const called = await call('plain', '/a', ['x'.repeat(60_000)], 'late.localhost')
    expect([called.status, called.body.toString()]).toEqual([502, expect.stringContaining('does not speak HTTP/2')])
  })

  test('the server is of another protocol', async () => {
    const odd = await startOddServer((socket) => socket.end('220 mail\r\n'), OWN)
    ends.push(() => odd.close())
    expect((await ask(odd))[1]).toContain('does not speak HTTP/2 without TLS (h2c)')
  })
})

describe('a probe by HTTP/2', () => {
  const probe = (address: string, at: number): Promise<string | null> =>
    netProber.probe({ address, port: at, kind: 'http', path: '/', protocol: 'h2c', timeoutMs: 1_000 })

  test('takes the status of the answer', async () => {
    expect(await probe(OWN, port)).toBe(null)
  })

  test('says that a server does not speak it', async () => {
    const odd = await startOddServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), OWN)
    ends.push(() => odd.close())
    expect(await probe(OWN, odd.port)).toContain('does not speak HTTP/2 without TLS')
  })
})
