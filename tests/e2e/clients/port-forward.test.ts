import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { buildCli } from '../../../infra/cli-bundle.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { service, client } = useSharedService()
const BOXES = '/v1/projects/demo/boxes'
const BYTES = randomBytes(32 * 1024 ** 2)
let directory: string
let program: string
let forwards: ChildProcess[] = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-forward-'))
  program = await buildCli(directory)
  await client.post(BOXES, { name: 'web' })
  const command = ['/bin/sh', '-c', 'exec nc -ll -p 7001 -e /bin/cat']
  expect((await client.put(`${BOXES}/web/services/echo`, { command })).status).toBeLessThan(300)
  await eventually(async () => {
    const { stdout = '' } = (await client.shell('demo', 'web', 'cat /proc/net/tcp /proc/net/tcp6')).body
    return /:1B59 [0-9A-F]+:0000 0A/.test(stdout)
  })
})
afterEach(() => {
  for (const child of forwards) child.kill('SIGKILL')
  forwards = []
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Forward {
  child: ChildProcess
  /** Local port of each pair. */
  ports: number[]
  stderr(): string
}

/** Starts a port-forward as a user does, and waits until it listens. */
async function forward(...pairs: string[]): Promise<Forward> {
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    BOXYARD_URL: service().url,
    BOXYARD_TOKEN: service().adminToken,
  }
  const child = spawn(process.execPath, [program, 'port-forward', '-p', 'demo', 'web', ...pairs], { env })
  forwards.push(child)
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (piece: Buffer) => (text.stdout += piece.toString('utf8')))
  child.stderr.on('data', (piece: Buffer) => (text.stderr += piece.toString('utf8')))
  const ports = (): number[] =>
    [...text.stdout.matchAll(/^Forwarding 127\.0\.0\.1:(\d+) to port /gm)].map(([, port]) => Number(port))
  await eventually(() => ports().length === pairs.length || child.exitCode !== null)
  return { child, ports: ports(), stderr: () => text.stderr }
}

async function reach(port = 0): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}

test('bytes go both ways unchanged, and each direction ends by itself', async () => {
  const { ports } = await forward('0:7001')
  const socket = await reach(ports[0])
  const back = createHash('sha256')
  socket.on('data', (piece) => back.update(piece))
  socket.end(BYTES)
  await once(socket, 'end')
  expect(back.digest('hex')).toBe(createHash('sha256').update(BYTES).digest('hex'))
})

test('several connections and ports are open at once, and Ctrl-C ends them all', async () => {
  const { child, ports } = await forward('0:7001', '0:7001')
  expect(new Set(ports).size).toBe(2)
  const sockets = await Promise.all([...ports, ...ports].map(reach))
  for (const [index, socket] of sockets.entries()) {
    socket.write(`hello ${index}`)
    expect(String((await once(socket, 'data'))[0])).toBe(`hello ${index}`)
  }
  const ended = sockets.map((socket) => Promise.race([once(socket, 'end'), once(socket, 'error')]))
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
  await Promise.allSettled(ended)
  for (const socket of sockets) socket.destroy()
})

test('a port where nothing listens resets the connection, tells why, and leaves the others', async () => {
  const { ports, stderr } = await forward('0:7009', '0:7001')
  const socket = connect(ports[0] ?? 0, '127.0.0.1').resume()
  await expect(once(socket, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(stderr()).toMatch(/^boxyard: port 7009: .*7009/)
  const other = await reach(ports[1])
  other.write('still')
  expect(String((await once(other, 'data'))[0])).toBe('still')
  other.destroy()
})

test('ports that are none, and one that is taken, are refused', async () => {
  const wrong = await forward('70000')
  await eventually(() => wrong.child.exitCode !== null)
  expect([wrong.child.exitCode, wrong.stderr()]).toEqual([2, expect.stringContaining('70000')])
  const { ports } = await forward('0:7001')
  const taken = await forward(`${ports[0]}:7001`)
  await eventually(() => taken.child.exitCode !== null)
  expect([taken.child.exitCode, taken.stderr()]).toEqual([
    1,
    expect.stringContaining('address already in use. To listen on a free port: boxyard port-forward'),
  ])
})
