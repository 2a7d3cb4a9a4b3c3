import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { PORT_MESSAGE_BYTES } from '../../../shared/http/port-frames.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import { openStream, refusedStream, type StreamClient } from '../../helpers/exec/stream-client.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const MIB = 1024 ** 2
const BOXES = '/v1/projects/ports/boxes'
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

/** Listeners of a box by port. Each client gets its own script, whose input and output are the connection. */
const SERVERS: Record<number, string> = {
  7001: 'exec cat',
  7002: `head -c ${64 * MIB} /dev/zero | tee /tmp/sent | sha256sum >/tmp/sent.sum; cat /tmp/sent`,
  7003: 'sha256sum >/tmp/got.sum.new; mv /tmp/got.sum.new /tmp/got.sum; echo done',
  7004: 'exec cat /dev/zero',
}

beforeAll(async () => {
  service = await startService()
  await makeBox('it')
})

afterAll(async () => {
  await service.close()
})

async function makeBox(name: string, more: object = {}): Promise<void> {
  await client.post(BOXES, { name, ...more })
  for (const [port, script] of Object.entries(SERVERS)) {
    const file = `/root/at-${port}`
    const shell = `printf '#!/bin/sh\\n%s\\n' '${script}' >${file}; chmod +x ${file}`
    expect((await client.shell('ports', name, shell)).body.exit_code).toBe(0)
    const body = { command: ['/bin/sh', '-c', `exec nc -ll -p ${port} -e ${file}`] }
    expect((await client.put(`${BOXES}/${name}/services/at-${port}`, body)).status).toBeLessThan(300)
  }
  await untilListening(name)
}

function untilListening(name: string): Promise<void> {
  const ports = Object.keys(SERVERS).map((port) => Number(port).toString(16).toUpperCase())
  return eventually(async () => {
    const { stdout = '' } = (await client.shell('ports', name, 'cat /proc/net/tcp /proc/net/tcp6')).body
    return ports.every((port) => new RegExp(`:${port} [0-9A-F]+:0000 0A`).test(stdout))
  })
}

const urlOf = (port: number, box = 'it'): string => `${service.url}${BOXES}/${box}/ports/${port}/ws`
const open = (port: number, box = 'it'): Promise<StreamClient> =>
  openStream(urlOf(port, box), { token: service.adminToken, protocols: [] })
const refusal = async (port: number, box = 'it', token = service.adminToken) =>
  (await refusedStream(urlOf(port, box), { token, protocols: [] })).problem
const bytesOf = ({ messages }: StreamClient): Buffer =>
  Buffer.concat(messages.filter((each): each is Buffer => typeof each !== 'string'))
const sum = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const shell = async (line: string, box = 'it'): Promise<string> =>
  (await client.shell('ports', box, line)).body.stdout.trim()

/** Counts the agent's descriptors, which include its sockets in the network namespaces of boxes and the namespaces themselves. */
const descriptors = (): number => readdirSync(`/proc/${service.agentPid}/fd`).length
/** Returns the number of open port connections, from the metrics. */
async function openNow(): Promise<number> {
  const page = await (await fetch(service.metricsUrl)).text()
  return Number(/^boxyard_port_connections_open (\d+)/m.exec(page)?.[1])
}
const untilNoneOpen = (): Promise<void> => eventually(async () => (await openNow()) === 0)

describe('a port of a box over a WebSocket', () => {
  test('carries large transfers both ways, unchanged, and the end of each direction', async () => {
    const down = await open(7002)
    down.socket.send('end')
    expect((await down.closed).code).toBe(1000)
    expect(`${sum(bytesOf(down))}  -`).toBe(await shell('cat /tmp/sent.sum'))
    const up = await open(7003)
    const piece = randomBytes(PORT_MESSAGE_BYTES)
    const all = createHash('sha256')
    for (let at = 0; at < (64 * MIB) / PORT_MESSAGE_BYTES; at++) {
      all.update(piece)
      await new Promise<void>((resolve) => up.socket.send(piece, () => resolve()))
    }
    up.socket.send('end')
    expect((await up.closed).code).toBe(1000)
    expect(bytesOf(up).toString()).toBe('done\n')
    expect(await shell('cat /tmp/got.sum')).toBe(`${all.digest('hex')}  -`)
  })

  test('carries a hundred connections at once, and leaves none', async () => {
    const before = descriptors()
    const all: StreamClient[] = []
    // Opens one at a time, because the program's backlog is 1.
    for (let index = 0; index < 100; index++) {
      const one = await open(7001)
      all.push(one)
      one.socket.send(Buffer.from(`to ${index}`))
      await eventually(() => bytesOf(one).length > 0, 2)
    }
    expect(await openNow()).toBe(100)
    for (const { socket } of all) socket.send('end')
    expect(await Promise.all(all.map(async ({ closed }) => (await closed).code))).toEqual(all.map(() => 1000))
    expect(all.map((each) => bytesOf(each).toString())).toEqual(all.map((_, index) => `to ${index}`))
    await untilNoneOpen()
    await eventually(() => descriptors() <= before + 5)
  })

  test('makes a program wait for a client that does not read, in bounded memory', async () => {
    const residentMib = (pid: number): number =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
    const before = [service.agentPid, service.frontPid].map(residentMib)
    const slow = await Promise.all(Array.from({ length: 20 }, () => open(7004)))
    for (const { socket } of slow) socket.pause()
    await untilSteady(async () => (await client.get(`${BOXES}/it/metrics`)).body.cpu.seconds, 300)
    const after = [service.agentPid, service.frontPid].map(residentMib)
    // A busy machine collects garbage late. Without a limit the program would write gigabytes and never settle.
    for (const [index, mib] of after.entries()) expect(mib - (before[index] ?? 0)).toBeLessThan(320)
    for (const { socket } of slow) socket.terminate()
    await untilNoneOpen()
  })

  test('is refused where nothing listens, with the port, and without its permission', async () => {
    expect(await refusal(7999)).toMatchObject({
      ...{ status: 409, code: 'port_not_listening', retryable: true },
      detail: expect.stringMatching(/^Nothing listens at port 7999 of the box\. /),
    })
    expect(await refusal(7001, 'none')).toMatchObject({ code: 'box_not_found' })
    const body = { name: 'runs', projects: ['ports'], permissions: ['exec'], expires_in_seconds: 60 }
    const { token } = (await client.post('/v1/tokens', body)).body
    expect(await refusal(7001, 'it', token)).toMatchObject({ code: 'permission_denied' })
    const plain = await client.get(`${BOXES}/it/ports/7001/ws`)
    expect([plain.status, plain.body.code]).toEqual([426, 'upgrade_required'])
  })

  test('is opened once by a ticket at the data address, for its port alone', async () => {
    const ticket = async (more: object) => client.post(`${BOXES}/it/tickets`, { operation: 'openPort', ...more })
    expect((await ticket({})).body.errors).toEqual([{ pointer: '/port', detail: 'is required' }])
    const { url } = (await ticket({ port: 7001 })).body
    expect(new URL(url).pathname).toBe(`${BOXES}/it/ports/7001/ws`)
    const other = (await ticket({ port: 7001 })).body.url.replace('7001', '7003')
    expect((await refusedStream(other, { protocols: [] })).problem).toMatchObject({ code: 'token_invalid' })
    const stream = await openStream(url, { protocols: [] })
    stream.socket.send(Buffer.from('by ticket'))
    stream.socket.send('end')
    await stream.closed
    expect(bytesOf(stream).toString()).toBe('by ticket')
    expect((await refusedStream(url, { protocols: [] })).problem).toMatchObject({ code: 'token_invalid' })
  })

  test('is in the audit log', async () => {
    const { headers, socket } = await open(7001)
    socket.close(1000)
    const id = String(headers['x-request-id'])
    await eventually(async () => {
      const { entries } = (await client.get('/v1/audit?project=ports')).body
      const found = entries.find((entry: { request_id: string }) => entry.request_id === id)
      return found?.operation === 'openPort' && found.status === 101 && found.target.endsWith('/ports/7001/ws')
    })
  })
})

describe('a connection to a port', () => {
  test('ends with its box, which is then refused, unless a request may wake it', async () => {
    await makeBox('ends')
    const connection = await open(7001, 'ends')
    await client.post(`${BOXES}/ends/stop`)
    expect([1000, 1011]).toContain((await connection.closed).code)
    await untilNoneOpen()
    expect(await refusal(7001, 'ends')).toMatchObject({ status: 409, code: 'box_not_running' })
    await client.put(`${BOXES}/ends`, { url_settings: { wake: true } })
    const woken = await open(7001, 'ends')
    woken.socket.send(Buffer.from('awake'))
    woken.socket.send('end')
    await woken.closed
    expect(bytesOf(woken).toString()).toBe('awake')
    expect((await client.get(`${BOXES}/ends`)).body.status).toBe('running')
  })

  test('keeps its box from being stopped as idle, until it has closed', async () => {
    await makeBox('idle')
    const connection = await open(7001, 'idle')
    await client.put(`${BOXES}/idle`, { url_settings: { idle_stop_seconds: 1, wake: true } })
    const isRunning = async (): Promise<boolean> => (await client.get(`${BOXES}/idle`)).body.status === 'running'
    const other = 'other-idle'
    await client.post(BOXES, { name: other })
    await client.put(`${BOXES}/${other}`, { url_settings: { idle_stop_seconds: 1 } })
    await client.until(`${BOXES}/${other}`, ({ body }) => body.status === 'stopped')
    expect(await isRunning()).toBe(true)
    connection.socket.send(Buffer.from('still here'))
    await eventually(() => bytesOf(connection).toString() === 'still here')
    connection.socket.close(1000)
    await client.until(`${BOXES}/idle`, ({ body }) => body.status !== 'running')
  })

  test('ends when the agent is killed, and its program is told', async () => {
    const connection = await open(7001)
    connection.socket.send(Buffer.from('on'))
    await eventually(() => bytesOf(connection).toString() === 'on')
    // Sockets of the program's side in the state ESTABLISHED. 7001 is 1B59 in hexadecimal.
    const taken = (): Promise<string> =>
      shell("cat /proc/net/tcp /proc/net/tcp6 | grep -c ':1B59 [0-9A-F]*:[0-9A-F]* 01 '")
    expect(await taken()).not.toBe('0')
    await service.killAgent()
    expect((await connection.closed).code).toBe(1006)
    await service.startAgent()
    await eventually(async () => (await taken()) === '0')
    expect(await openNow()).toBe(0)
    const again = await open(7001)
    again.socket.send('end')
    expect((await again.closed).code).toBe(1000)
  })
})
