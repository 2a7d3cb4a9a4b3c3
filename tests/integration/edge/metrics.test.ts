import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { EdgeServed } from '../../../agent/ports/edge/edge.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { freezeProcess, pidsOfEdge } from '../../helpers/edge/processes.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { openConversation } from '../../helpers/front/http-server.ts'

const HOST = 'shop--demo.localhost'

let lab: EdgeLab
let shop: Upstream

beforeEach(async () => {
  lab = createEdgeLab()
  shop = await lab.startUpstream((incoming, outgoing) => {
    if (incoming.url === '/cut') incoming.socket.destroy()
    else outgoing.writeHead(Number(incoming.url?.slice(1)) || 200).end('x'.repeat(10_000))
  })
  await lab.open({ routes: [lab.route(HOST, shop), lab.route('gone.localhost', { address: '127.0.0.1', port: 9 })] })
})
afterEach(() => lab.close())

async function served(edge = lab.edge): Promise<EdgeServed> {
  const { served: found } = await edge.metrics()
  if (found === null) throw new Error('the edge does not answer')
  return found
}

/** Repeats `check` until it holds. The edge counts an answer shortly after the client receives it. */
const counted = (check: (found: EdgeServed) => void): Promise<void> =>
  untilSucceeds(async () => check(await served()), COUNTED_MS)

const ask = (path = '/', host = HOST) => lab.ask([`GET ${path} HTTP/1.1`, `host: ${host}`])

describe('the figures of the edge', () => {
  test('count answers by class, bytes and connections', async () => {
    for (const path of ['/', '/201', '/302', '/404', '/410', '/500']) await ask(path)
    await counted(({ answers, connections }) => {
      expect(answers).toEqual({ '1xx': 0, '2xx': 2, '3xx': 1, '4xx': 2, '5xx': 1, other: 0 })
      expect(connections).toEqual({ total: 6, open: 0, limit: 8_000 })
    })
    const { receivedBytes, sentBytes } = await served()
    expect(receivedBytes).toBeGreaterThan(6 * 40)
    expect(receivedBytes).toBeLessThan(6 * 200)
    expect(sentBytes).toBeGreaterThan(6 * 10_000)
    expect(sentBytes).toBeLessThan(6 * 11_000)
  })

  test('count requests that reached no box, by reason', async () => {
    await lab.say('NO HTTP\r\n\r\n')
    await ask('/', 'unknown.localhost')
    await lab.ask(['TRACE / HTTP/1.1', `host: ${HOST}`])
    await lab.edge.change({ set: [lab.route(HOST, shop, { auth: 'token' })] })
    lab.decide(() => ({ kind: 'answer', status: 302, headers: { location: '/' }, body: '' }))
    await ask()
    await counted(({ refused, boxErrors }) => {
      expect(refused).toEqual({ malformed: 1, notAdmitted: 3 })
      expect(boxErrors).toEqual({ connect: 0, answer: 0 })
    })
  })

  test('count boxes that do not answer, for programs and browsers', async () => {
    await ask('/', 'gone.localhost')
    await lab.ask(['GET / HTTP/1.1', 'host: gone.localhost', 'accept: text/html'])
    await ask('/cut')
    await counted(({ refused, boxErrors }) => {
      expect(boxErrors).toEqual({ connect: 2, answer: 1 })
      expect(refused).toEqual({ malformed: 0, notAdmitted: 0 })
    })
  })

  test('count current names and grants', async () => {
    await lab.edge.change({ set: [lab.route('more.localhost', shop)] })
    const grants = ['a', 'b', 'c'].map((credential) => grantOf(credential, 'demo'))
    await lab.edge.grant(grants)
    expect(await served()).toMatchObject({ names: 3, grants: 3 })
    await lab.edge.change({ remove: ['more.localhost', 'gone.localhost'] })
    await lab.edge.revoke(grants.map(({ credential }) => credential))
    expect(await served()).toMatchObject({ names: 1, grants: 0 })
  })

  test('go on with the next driver, which did not start it', async () => {
    await ask()
    expect((await lab.edge.metrics()).starts).toBe(1)
    await lab.leave()
    await lab.open({ routes: [lab.route(HOST, shop)] })
    await ask()
    await counted(({ answers, names }) => expect([answers['2xx'], names]).toEqual([2, 1]))
    expect((await lab.edge.metrics()).starts).toBe(0)
  })

  test('begin again with another process, except for connections open through the one before', async () => {
    const client = openConversation(lab.edge.port)
    client.say(`GET / HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
    await eventually(() => client.heard().includes('200 OK'))
    await lab.leave()
    const changed = createEdgeLab({ runDir: lab.runDir, signInHost: 'enter.localhost' })
    try {
      await changed.open({ routes: [lab.route(HOST, shop)] })
      expect(pidsOfEdge(lab.runDir)).toHaveLength(2)
      const { answers, connections } = await served(changed.edge)
      expect([answers['2xx'], connections.total, connections.open]).toEqual([0, 0, 1])
      expect((await changed.edge.metrics()).starts).toBe(1)
    } finally {
      client.socket.destroy()
      await changed.close()
    }
  })

  test('are there again once it was started again', async () => {
    for (const pid of pidsOfEdge(lab.runDir)) process.kill(pid, 'SIGKILL')
    await eventually(async () => (await lab.edge.metrics()).starts === 2)
    await eventually(async () => (await lab.edge.metrics()).served?.answers['2xx'] === 0)
  })

  test('are missing while it hangs, and back once it goes on', async () => {
    await ask()
    const [pid = 0] = pidsOfEdge(lab.runDir)
    await freezeProcess(pid)
    try {
      expect(await lab.edge.metrics()).toEqual({ starts: 1, served: null })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await counted(({ answers }) => expect(answers['2xx']).toBe(1))
  })
})

const COUNTED_MS = 20_000
