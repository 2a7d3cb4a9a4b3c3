import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const WAITERS = 32
const BOX = '/v1/projects/loud/boxes/it'
// Bytes that JSON encodes as six characters each.
const OUTPUT = "head -c 1048576 /dev/zero | tr '\\0' '\\1'"
let service: TestService
const sockets: Socket[] = []
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService()
  await client.post('/v1/projects/loud/boxes', { name: 'it' })
  await client.post('/v1/projects/calm/boxes', { name: 'it' })
}, 120_000)

afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await service.close()
}, 120_000)

function ask(target: string): void {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) })
  // Reads nothing of the response.
  socket.on('error', () => undefined).pause()
  socket.write(`GET ${target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${service.adminToken}\r\n\r\n`)
  sockets.push(socket)
}

async function inFlight(): Promise<number> {
  const text = await (await fetch(service.metricsUrl)).text()
  return Number(/^boxyard_requests_in_flight (\d+)$/m.exec(text)?.[1])
}

test('the end of one command with long output, for which many wait, does not fill the memory of the agent', async () => {
  const { agentPid } = service
  const line = `until [ -e /go ]; do sleep 0.05; done; ${OUTPUT}; ${OUTPUT} >&2`
  const { body } = await client.post(`${BOX}/exec?wait_seconds=0`, { shell: line })
  const before = await inFlight()
  for (let i = 0; i < WAITERS; i++) ask(`${BOX}/exec/${body.id}?wait_seconds=20`)
  await eventually(async () => (await inFlight()) >= before + WAITERS)
  await client.shell('loud', 'it', 'touch /go')
  expect((await client.shell('calm', 'it', 'echo here')).body.stdout).toBe('here\n')
  await eventually(async () => (await inFlight()) <= before)
  expect(service.agentPid).toBe(agentPid)
}, 120_000)
