import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import v8 from 'node:v8'
import vm from 'node:vm'
import { afterEach, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const COUNT = 1_000_000
const MIB = 1024 ** 2
let server: Server
let serving: Serving

afterEach(() => serving.drain(AbortSignal.abort()))

async function listen(handler: HttpHandler, unreadBytes?: number): Promise<number> {
  server = createServer(SERVER_OPTIONS)
  serving = serve(server, { handler, logger: silentLogger, now: Date.now, ...(unreadBytes && { unreadBytes }) })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Sends the head of a body and `COUNT` pieces of one byte, without the end. */
async function sendShort(port: number): Promise<Socket> {
  const client = connect(port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write('PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
  for (let sent = 0; sent < COUNT; sent += 10_000)
    if (!client.write('1\r\nx\r\n'.repeat(10_000))) await once(client, 'drain')
  return client
}

/** Returns the MiB in use after garbage collection. */
function usedMib(): number {
  v8.setFlagsFromString('--expose-gc')
  ;(vm.runInNewContext('gc') as () => void)()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MIB
}

test('a body in pieces of one byte that is read whole takes memory for its bytes alone', async () => {
  let body: Uint8Array | null = null
  const port = await listen(async (request) => {
    body = await request.readBody(2 * COUNT)
    return { status: 204, headers: {}, body: null }
  })
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const before = usedMib()
  const client = await sendShort(port)
  const [socket] = await accepted
  await eventually(() => socket.bytesRead >= 6 * COUNT)
  expect(usedMib() - before).toBeLessThan(20)
  client.write('0\r\n\r\n')
  await once(client, 'data')
  expect(Buffer.from(body ?? []).equals(Buffer.alloc(COUNT, 'x'))).toBe(true)
  client.destroy()
})

test('who asks ahead and takes no answers is cut off once those of its address are too many', async () => {
  const closed: Socket[] = []
  const answer = 'x'.repeat(60_000)
  const port = await listen(async () => ({ status: 200, headers: {}, body: answer }), MIB)
  server.on('connection', (socket) => socket.once('close', () => closed.push(socket)))
  const program = join(ROOT, 'tests/fixtures/unread-answers.py')
  const child = spawn('python3', [program, String(port), '40', '8'], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  // Each uses less than 64 KiB, and one address may use half of the limit.
  await eventually(() => closed.length >= 20)
  expect(closed.length).toBeLessThan(40)
  child.stdin.end()
  await once(child, 'exit')
})
