import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type CellLinks, createCellLinks, isUnsent } from '../../../agent/server/cells/cell-links.ts'
import { answerPulse } from '../../../agent/server/cells/cell-pulse.ts'
import { serve } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const REQUEST = { method: 'POST', target: '/work', headers: {}, signal: null, owner: 'project demo' }
const NONE = new Uint8Array()
const TIMES = { lookMs: 20, signMs: 100, forgetMs: 60_000 }

let server: Server
let url: string
let links: CellLinks
/** The agent's handlers for liveness probes and for all other requests. */
let sign: (request: IncomingMessage, response: ServerResponse) => void
let work: typeof sign
let signs: number

beforeEach(async () => {
  signs = 0
  sign = (_, response) => response.writeHead(204).end()
  work = (_, response) => response.end('done')
  server = createServer((request, response) => {
    const isSign = request.url === '/cells/pulse'
    if (isSign) signs += 1
    ;(isSign ? sign : work)(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  links = createCellLinks({ tls: null, pulseTimes: TIMES })
})

afterEach(async () => {
  await links.close()
  server.closeAllConnections()
  server.close()
})

const send = (): Promise<number> =>
  links.send(url, REQUEST, NONE).then(({ status, body }) => {
    body.resume()
    return status
  })

/** Accepts everything and answers nothing, like a stopped process. */
function stop(): void {
  sign = () => undefined
  work = () => undefined
}

test.each([
  ['gives signs of life', (response: ServerResponse) => response.writeHead(204).end()],
  ['refuses connections for them', (response: ServerResponse) => response.destroy()],
])('an agent that %s may take any time over an answer', async (_, answer) => {
  sign = (_request, response) => void answer(response)
  const held = Promise.withResolvers<ServerResponse>()
  work = (_request, response) => held.resolve(response)
  const answering = send()
  await eventually(() => signs >= 5)
  ;(await held.promise).end('late')
  expect(await answering).toBe(200)
})

test('one that gives none is cut off; until it does, nothing more is sent to it', async () => {
  stop()
  let sent = 0
  work = () => (sent += 1)
  const [first, upgrade] = [send(), links.upgrade(url, { ...REQUEST, method: 'GET' })]
  for (const waiting of [first, upgrade]) {
    const error: unknown = await waiting.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect([String(error), isUnsent(error)]).toEqual(['CellSilence: it shows no sign of life', false])
  }
  const refused: unknown = await send().catch((error: unknown) => error)
  expect([String(refused), isUnsent(refused)]).toEqual(['CellSilence: it shows no sign of life', true])
  expect(sent).toBe(2)
  sign = (_, response) => response.writeHead(204).end()
  work = (_, response) => response.end('done')
  await eventually(async () => (await send().catch(() => 0)) === 200)
})

test('an answer that has begun is not cut off', async () => {
  work = (request, response) => {
    if (request.method === 'GET') response.write('begun')
  }
  const { body } = await links.send(url, { ...REQUEST, method: 'GET' }, NONE)
  sign = () => undefined
  await expect(send()).rejects.toThrow('no sign of life')
  expect(body.destroyed).toBe(false)
  body.on('error', () => undefined).destroy()
})

test('the channel gives a sign of life without a signature', async () => {
  const channel = createServer()
  const serving = serve(channel, {
    handler: answerPulse(async () => ({ status: 502, headers: {}, body: null })),
    logger: silentLogger,
    now: Date.now,
  })
  channel.listen(0, '127.0.0.1')
  await once(channel, 'listening')
  const at = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(channel.address() as AddressInfo).port}${path}`)
  expect([(await at('/cells/pulse')).status, (await at('/cells')).status]).toEqual([204, 502])
  await serving.drain(AbortSignal.abort())
})
