import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createCellLinks } from '../../../agent/server/cells/cell-links.ts'
import { trustSigned } from '../../../agent/server/trust.ts'
import { createSigner, createVerifier, SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { eventually } from '../../helpers/eventually.ts'
import { CAT, deployment, handshakeOf, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'
import { makeFleet, type TestEntry, type TestFleet } from '../../helpers/fleet/entries.ts'

const WEB = 'box demo/web'
let fleet: TestFleet
let here: StreamLab & { entry: TestEntry }
/** Forwarded upgrades, in the order of their arrival. */
let passed: Promise<boolean>[]
/** A cell whose agent accepts connections, and never answers. */
let silent: { server: Server; url: string; next(): Promise<Socket> }

beforeEach(async () => {
  fleet = makeFleet(deployment.channelKeys)
  const entry = fleet.entryOf('aa')
  const { keys, agent_id: agentId } = deployment.channelKeys
  const verify = createVerifier({ keys: () => keys, agentId, now: Date.now, startedAt: Date.now() - 60_000 })
  passed = []
  const passUpgrade: TestEntry['passUpgrade'] = (...given) => {
    const passing = entry.passUpgrade(...given)
    passed.push(passing)
    return passing
  }
  const lab = await startStreamLab({ trust: trustSigned(verify), entry: { ...entry, passUpgrade } })
  here = Object.assign(lab, { entry })
  silent = await startSilentCell()
  fleet.urls.set('bb', silent.url)
  fleet.homes.set(WEB, 'bb')
})

afterEach(async () => {
  await here.entry.close()
  await here.close()
  silent.server.close()
})

async function startSilentCell(): Promise<typeof silent> {
  const came: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume()
    came.push(socket)
    server.emit('came')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const next = async (): Promise<Socket> => {
    if (came.length === 0) await once(server, 'came')
    return came.shift() as Socket
  }
  return { server, url: `http://127.0.0.1:${port}`, next }
}

/** Sends the handshake for a command of the box, as the functions do. */
async function knock(): Promise<Socket> {
  const { keys, agent_id: agentId } = deployment.channelKeys
  const sign = createSigner({ keys: () => keys, agentId: () => agentId, now: Date.now })
  const headers = { authorization: `Bearer ${here.token}`, 'sec-websocket-protocol': 'v5.channel.k8s.io' }
  const signature = sign({ method: 'GET', target: CAT, headers }, new Uint8Array())
  const client = await here.connect()
  client.write(handshakeOf(here.token).replace('\r\n\r\n', `\r\n${SIGNATURE_HEADER}: ${signature}\r\n\r\n`))
  return client
}

test.each([
  ['ends its connection', (client: Socket) => client.destroy()],
  ['resets it', (client: Socket) => client.resetAndDestroy()],
])('a client that %s before the owner answers takes what was opened there with it', async (_, leave) => {
  const client = await knock()
  const owner = await silent.next()
  leave(client)
  await once(owner, 'close')
  expect(await passed[0]).toBe(true)
})

test('a refusal of an owner that does not end is read as far as one may be long', async () => {
  const client = await knock()
  const owner = await silent.next()
  owner.write('HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n')
  const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const flood = (): void => {
    while (owner.writable && owner.write(piece)) continue
  }
  owner.on('drain', flood)
  flood()
  let told = ''
  client.on('data', (bytes: Buffer) => {
    told += bytes.toString()
  })
  // The ingress node resets the connection to the owner.
  const isOver = [owner, client].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  await Promise.all(isOver)
  expect(told).toMatch(/^HTTP\/1.1 503 /)
  expect(told).toContain('agent_unavailable')
  expect(await passed[0]).toBe(true)
})

test('one that left while its owner was looked for opens nothing that stays', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  here.entry.beforeRead = () => promise
  const client = await knock()
  await eventually(() => here.entry.reads.length === 1)
  const gone = new Promise((resolve) => here.wires()[0]?.once('close', resolve))
  client.resetAndDestroy()
  await gone
  resolve()
  expect(await passed[0]).toBe(true)
})

test('what waits for an owner ends with the entry', async () => {
  const client = await knock()
  const owner = await silent.next()
  const closed = once(client.resume(), 'close')
  await here.entry.close()
  await Promise.all([closed, once(owner, 'close'), passed[0]])
})

describe('links to a cell that never answers', () => {
  const GET = { method: 'GET', target: '/', headers: {}, signal: null, owner: 'project demo' }
  const NONE = new Uint8Array()

  test('take a bounded number of requests, of which each owner leaves some to the others', async () => {
    const links = createCellLinks({ tls: null, requestsMax: 4 })
    const leaving = new AbortController()
    const waiting = [GET, { ...GET, signal: leaving.signal }].map((one) => links.send(silent.url, one, NONE))
    const outcomes = Promise.allSettled(waiting)
    await expect(links.send(silent.url, GET, NONE)).rejects.toMatchObject({ code: 'rate_limited' })
    const other = await startSilentCell()
    const elsewhere = links.send(other.url, GET, NONE).catch(() => undefined)
    await other.next()
    const others = links.send(silent.url, { ...GET, owner: 'project other' }, NONE).catch(() => undefined)
    for (let i = 0; i < 3; i++) await silent.next()
    leaving.abort()
    await waiting[1]?.catch(() => undefined)
    const third = links.send(silent.url, GET, NONE).catch(() => undefined)
    await silent.next()
    await links.close()
    await Promise.all([outcomes, elsewhere, others, third])
    other.server.close()
  })

  test('open nothing once they are closed', async () => {
    const links = createCellLinks({ tls: null })
    await links.close()
    await expect(links.send(silent.url, GET, NONE)).rejects.toThrow('closed')
    await expect(links.upgrade(silent.url, GET)).rejects.toThrow('closed')
  })
})
