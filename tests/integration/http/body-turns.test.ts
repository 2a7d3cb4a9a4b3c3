import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Agent, request } from 'undici'
import { createBodyTurns } from '../../../shared/http/body-turns.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const LOUD = 24
const ASKS = 20
const BODY = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => String(index)))
let server: Server
let serving: Serving
let clients: Agent
let origin: string

beforeEach(async () => {
  const turns = createBodyTurns()
  server = createServer(SERVER_OPTIONS)
  const handler: HttpHandler = async (asked) => {
    turns.note(asked.target)
    const body = await asked.readBody(BODY.length)
    await turns.run(asked.target, body.length, () => JSON.parse(Buffer.from(body).toString()))
    return { status: 204, headers: {}, body: null }
  }
  serving = serve(server, { handler, logger: silentLogger, now: Date.now })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  clients = new Agent({ connections: LOUD + 1, pipelining: 1 })
})

afterEach(async () => {
  await clients.close()
  await serving.drain(AbortSignal.abort())
})

async function ask(owner: string): Promise<void> {
  const { statusCode } = await request(`${origin}/${owner}`, { method: 'POST', body: BODY, dispatcher: clients })
  expect(statusCode).toBe(204)
}

test('who sends long bodies one after the other by many connections gets half of the turns', async () => {
  let isOver = false
  let loud = 0
  const flood = Array.from({ length: LOUD }, async () => {
    while (!isOver) await ask('loud').then(() => loud++)
  })
  await ask('calm')
  const before = loud
  for (let i = 0; i < ASKS; i++) await ask('calm')
  const meanwhile = loud - before
  isOver = true
  await Promise.all(flood)
  expect(meanwhile).toBeGreaterThan(0)
  expect(meanwhile).toBeLessThan(4 * ASKS)
})
