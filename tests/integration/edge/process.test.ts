import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { freezeProcess, pidsOfEdge } from '../../helpers/edge/processes.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openConversation } from '../../helpers/front/http-server.ts'

const HOST = 'shop--demo.localhost'

let lab: EdgeLab
let shop: Upstream

beforeEach(async () => {
  lab = createEdgeLab()
  shop = await lab.startUpstream()
})
afterEach(() => lab.close())

async function statusOf(host = HOST): Promise<number> {
  return (await lab.ask(['GET / HTTP/1.1', `host: ${host}`])).status
}

/** Opens a WebSocket through the edge. `echo` sends `text`, and returns the reply. */
async function openSocket(host = HOST): Promise<{ socket: WebSocket; echo(text: string): Promise<string> }> {
  const socket = new WebSocket(`ws://127.0.0.1:${lab.edge.port}/`, { headers: { host } })
  await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    socket,
    echo: (text) =>
      new Promise((resolve, reject) => {
        socket.once('message', (data: Buffer) => resolve(data.toString()))
        socket.once('close', () => reject(new Error('closed')))
        socket.send(text)
      }),
  }
}

test('it is opened, where none runs, before its process listens', async () => {
  const first = createEdgeLab()
  try {
    const asked = (): Promise<never> => Promise.reject(new Error('asked'))
    const gate = { decide: asked, certifies: async () => false, reach: asked, refuse: asked }
    await first.edge.open({ routes: [], grants: [], gate })
    expect((await first.edge.metrics()).starts).toBe(0)
    await first.edge.started()
    expect((await first.edge.metrics()).starts).toBe(1)
  } finally {
    await first.close()
  }
})

test('the next driver adopts it, on the same port, with its open connections', async () => {
  const edge = await lab.open({ routes: [lab.route(HOST, shop), lab.route('old.localhost', shop)] })
  const { port } = edge
  const [pid] = pidsOfEdge(lab.runDir)
  const { echo, socket } = await openSocket()
  await lab.leave()
  expect(await statusOf()).toBe(200)
  await lab.open({ routes: [lab.route(HOST, shop), lab.route('new.localhost', shop)] })
  expect(lab.edge.port).toBe(port)
  expect(pidsOfEdge(lab.runDir)).toEqual([pid])
  expect(await Promise.all([statusOf(), statusOf('new.localhost'), statusOf('old.localhost')])).toEqual([200, 200, 404])
  expect(await echo('still here')).toBe('still here')
  expect((await lab.edge.use()).get('box_1')?.open).toBe(1)
  socket.close()
})

test('it is started again when it is killed under load, with all its routes', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `n${index}.localhost`)
  await lab.open({ routes: [lab.route(HOST, shop)] })
  await lab.edge.change({ set: names.map((name) => lab.route(name, shop)) })
  await lab.edge.grant([grantOf(`${TOKEN_PREFIX}x`, 'demo')])
  await lab.edge.change({ set: [lab.route('private.localhost', shop, { auth: 'token' })] })
  const load = { isOver: false, answered: 0 }
  const clients = Array.from({ length: 8 }, async () => {
    while (!load.isOver) if ((await statusOf().catch(() => 0)) === 200) load.answered++
  })
  for (let round = 0; round < 3; round++) {
    const [pid = 0] = pidsOfEdge(lab.runDir)
    process.kill(pid, 'SIGKILL')
    const before = load.answered
    await eventually(() => load.answered > before + 20)
    expect(pidsOfEdge(lab.runDir)).not.toContain(pid)
  }
  load.isOver = true
  await Promise.all(clients)
  expect(await Promise.all(names.map((name) => statusOf(name)))).toEqual(names.map(() => 200))
  const bearer = `authorization: Bearer ${TOKEN_PREFIX}x`
  expect((await lab.ask(['GET / HTTP/1.1', 'host: private.localhost', bearer])).status).toBe(200)
  expect(await lab.edge.problems()).toEqual([])
})

test('a change while it is down is served once it is back', async () => {
  await lab.open({ routes: [] })
  for (const pid of pidsOfEdge(lab.runDir)) process.kill(pid, 'SIGKILL')
  await lab.edge.change({ set: [lab.route(HOST, shop)] })
  await eventually(async () => (await statusOf().catch(() => 0)) === 200)
})

test('a hanging one is replaced at the next change', async () => {
  await lab.open({ routes: [] })
  const [pid = 0] = pidsOfEdge(lab.runDir)
  await freezeProcess(pid)
  await lab.edge.change({ set: [lab.route(HOST, shop)] })
  expect(pidsOfEdge(lab.runDir)).not.toContain(pid)
  expect(await statusOf()).toBe(200)
})

test('another configuration takes over without a refused connection, and open streams live on', async () => {
  await lab.open({ routes: [lab.route(HOST, shop)] })
  const [oldPid = 0] = pidsOfEdge(lab.runDir)
  const { echo, socket } = await openSocket()
  await lab.leave()
  const load = { isOver: false, statuses: new Map<number, number>() }
  const clients = Array.from({ length: 4 }, async () => {
    while (!load.isOver) {
      const status = await statusOf().catch(() => 0)
      load.statuses.set(status, (load.statuses.get(status) ?? 0) + 1)
    }
  })
  const before = lab
  const changed = createEdgeLab({ runDir: lab.runDir, signInHost: 'enter.localhost' })
  try {
    await changed.open({ routes: [lab.route(HOST, shop)] })
    expect(changed.edge.port).toBe(before.edge.port)
    await eventually(() => (load.statuses.get(200) ?? 0) > 100)
    load.isOver = true
    await Promise.all(clients)
    expect([...load.statuses.keys()]).toEqual([200])
    expect(pidsOfEdge(lab.runDir)).toHaveLength(2)
    expect(await echo('still here')).toBe('still here')
    expect((await changed.edge.use()).get('box_1')?.open).toBe(1)
    expect((await changed.ask(['GET / HTTP/1.1', 'host: enter.localhost'])).status).toBe(200)
    socket.close()
    await eventually(() => !pidsOfEdge(lab.runDir).includes(oldPid))
    expect(await statusOf()).toBe(200)
  } finally {
    load.isOver = true
    await changed.close()
  }
})

test('a request on a connection from before a takeover is decided by the current maps', async () => {
  const bearer = `authorization: Bearer ${TOKEN_PREFIX}x`
  const credential = grantOf(`${TOKEN_PREFIX}x`, 'demo')
  const routes = [lab.route(HOST, shop, { auth: 'token' })]
  await lab.open({ routes, grants: [credential] })
  const request = `GET / HTTP/1.1\r\nhost: ${HOST}\r\n${bearer}\r\n\r\n`
  const client = openConversation(lab.edge.port)
  client.say(request)
  await eventually(() => client.heard().includes('200 OK'))
  await lab.leave()
  const changed = createEdgeLab({ runDir: lab.runDir, signInHost: 'enter.localhost' })
  try {
    await changed.open({ routes, grants: [credential] })
    await changed.edge.revoke([credential.credential])
    client.say(request)
    await eventually(() => client.heard().includes('404 Not Found'))
  } finally {
    client.socket.destroy()
    await changed.close()
  }
})

test('if its port is taken it reports so, and starts once it is free', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  const changed = createEdgeLab({ port })
  try {
    await changed.open({ routes: [lab.route(HOST, shop)] })
    const [problem] = await changed.edge.problems()
    expect(problem).toMatchObject({ code: 'edge_down' })
    expect(problem?.evidence).toContain(String(port))
    await changed.edge.change({ set: [lab.route('later.localhost', shop)] })
    await new Promise<void>((resolve) => other.close(() => resolve()))
    await eventually(async () => (await changed.edge.problems()).length === 0)
    expect((await changed.ask(['GET / HTTP/1.1', 'host: later.localhost'])).status).toBe(200)
  } finally {
    other.close()
    await changed.close()
  }
})

test('processes of a driver killed in the middle of a start are ended or adopted', async () => {
  await lab.open({ routes: [lab.route(HOST, shop)] })
  const first = pidsOfEdge(lab.runDir)
  await lab.leave()
  // Starts a second HAProxy, as a driver does to replace the first one, which still listens.
  const text = readFileSync(`${lab.runDir}/edge/1.cfg`, 'utf8').replaceAll('/1.sock', '/2.sock')
  writeFileSync(`${lab.runDir}/edge/2.cfg`, text)
  const start = ['-D', '-f', `${lab.runDir}/edge/2.cfg`, '-x', `${lab.runDir}/edge/1.sock`]
  await new Promise((resolve) => spawn('haproxy', start, { stdio: 'ignore', detached: true }).once('exit', resolve))
  expect(pidsOfEdge(lab.runDir)).toHaveLength(2)
  await lab.open({ routes: [lab.route(HOST, shop)] })
  await eventually(() => pidsOfEdge(lab.runDir).length === 1)
  expect(pidsOfEdge(lab.runDir)).not.toEqual(first)
  expect(await statusOf()).toBe(200)
})

test('it ends on release, and leaves nothing', async () => {
  await lab.open({ routes: [lab.route(HOST, shop)] })
  expect(pidsOfEdge(lab.runDir)).toHaveLength(1)
  await lab.edge.close({ release: true })
  expect(pidsOfEdge(lab.runDir)).toEqual([])
  expect(readdirSync(lab.runDir)).toEqual([])
})
