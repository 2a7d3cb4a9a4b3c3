import { Agent, request } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createEdgeLab, type EdgeLab, type Upstream } from '../../helpers/edge/lab.ts'

const HOST = 'open--demo.localhost'
const CLIENT = '203.0.113.7'
const PROXY = '127.0.0.77'
const agents: Agent[] = []

let lab: EdgeLab
let shop: Upstream

beforeAll(async () => {
  lab = createEdgeLab({ trustedProxies: [PROXY, '10.0.0.0/8', '2001:db8::/32'], scheme: 'https' })
  shop = await lab.startUpstream()
  await lab.open({ routes: [lab.route(HOST, shop)] })
})
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
  shop.seen.length = 0
  lab.asked.length = 0
})
afterAll(() => lab.close())

/** Returns a function that sends requests from `localAddress` over one connection. */
function connectFrom(localAddress: string): (forwardedFor: string | string[], host?: string) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return (forwardedFor, host = HOST) =>
    new Promise((resolve, reject) => {
      const headers = { host, 'x-forwarded-for': forwardedFor }
      const outgoing = request({ host: '127.0.0.1', port: lab.edge.port, localAddress, agent, headers }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      outgoing.once('error', reject)
      outgoing.end()
    })
}

const told = (): unknown[] => shop.seen.map(({ headers }) => headers['x-forwarded-for'])

test('a trusted proxy names the client of each request', async () => {
  const ask = connectFrom(PROXY)
  for (const address of [CLIENT, '198.51.100.9', '2001:db8::7']) expect(await ask(address)).toBe(200)
  expect(told()).toEqual([CLIENT, '198.51.100.9', '2001:db8::7'])
})

test('only the last address that it forwards counts', async () => {
  const ask = connectFrom(PROXY)
  await ask(`10.1.1.1, 192.0.2.1, ${CLIENT}`)
  await ask(['192.0.2.1', CLIENT])
  expect(told()).toEqual([CLIENT, CLIENT])
})

test('it is the client itself if it forwards no valid address', async () => {
  const ask = connectFrom(PROXY)
  for (const said of ['unknown', '', `${CLIENT}, nobody`]) await ask(said)
  expect(told()).toEqual([PROXY, PROXY, PROXY])
})

test('forwarded addresses of other clients are ignored', async () => {
  const ask = connectFrom('127.0.0.78')
  await ask(CLIENT)
  await ask(PROXY)
  expect(told()).toEqual(['127.0.0.78', '127.0.0.78'])
})

test('the gate gets the named client, and the outer scheme of the edge', async () => {
  await connectFrom(PROXY)(CLIENT, 'unknown.localhost')
  await connectFrom('127.0.0.78')(CLIENT, 'unknown.localhost')
  expect(lab.asked).toMatchObject([
    { clientAddress: CLIENT, isSecure: true },
    { clientAddress: '127.0.0.78', isSecure: true },
  ])
})

test('an invalid network is refused', async () => {
  const other = createEdgeLab({ trustedProxies: ['10.0.0.0/8 }'] })
  try {
    await other.open({})
    expect((await other.edge.problems())[0]?.evidence).toContain('cannot be a setting of the edge')
  } finally {
    await other.close()
  }
})
