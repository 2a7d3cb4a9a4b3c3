import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Agent, request } from 'undici'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { createRecentProjects } from '../../../shared/project-turns.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const LOUD = 24
const ASKS = 20
const RECORDS = Array.from({ length: 10_000 }, (_, index) => String(index))
let server: Server
let serving: Serving
let clients: Agent
let origin: string

beforeEach(async () => {
  const turns = createProcessorTurns({ recent: createRecentProjects(), now: () => performance.now() })
  server = createServer(SERVER_OPTIONS)
  const handler: HttpHandler = (asked) =>
    turns.run(asked.target, async () => {
      // What a long list costs, and a short one.
      const records = asked.target === '/loud' ? RECORDS : RECORDS.slice(0, 10)
      for (let i = 0; i < 4; i++) JSON.parse(JSON.stringify(records))
      return { status: 204, headers: {}, body: null }
    })
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
  const { statusCode } = await request(`${origin}/${owner}`, { dispatcher: clients })
  expect(statusCode).toBe(204)
}

test('who asks for what is dear by many connections does not come before each request of the others', async () => {
  let isOver = false
  let loud = 0
  const flood = Array.from({ length: LOUD }, async () => {
    while (!isOver) await ask('loud').then(() => loud++)
  })
  await ask('calm')
  await ask('loud')
  const before = loud
  for (let i = 0; i < ASKS; i++) await ask('calm')
  const meanwhile = loud - before
  isOver = true
  await Promise.all(flood)
  // Without turns all connections of the flood would be served between two requests of the other.
  expect(meanwhile).toBeLessThan(4 * ASKS)
})
