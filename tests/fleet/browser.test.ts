import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { useBrowser } from '../helpers/edge/browser.ts'
import { makeSites, SITES } from '../helpers/edge/sites.ts'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { edgePortOf } from '../helpers/fleet/edges.ts'

const { newUser } = useBrowser('localhost')

let fleet: FleetOfTests
/** Load balancer at the address of the fleet's URLs. Each connection goes to the edge with the fewest so far. */
let balancer: Server
/** Number of connections to each edge. */
let taken: number[]

beforeAll(async () => {
  const open = new Set<Socket>()
  balancer = createServer((socket) => {
    const next = taken.indexOf(Math.min(...taken))
    const cell = fleet.cells[next]
    if (cell === undefined) throw new Error('There is no cell.')
    taken[next] = (taken[next] ?? 0) + 1
    const edge = connect(edgePortOf(cell), '127.0.0.1')
    for (const [from, to] of [
      [socket, edge],
      [edge, socket],
    ] as const) {
      open.add(from.on('error', () => to.destroy()))
      from.pipe(to)
    }
  })
  balancer.once('close', () => {
    for (const socket of open) socket.destroy()
  })
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve))
  const { port } = balancer.address() as AddressInfo
  fleet = await startFleet(['aa', 'bb', 'cc'], { BOXYARD_EDGE_URL: `http://localhost:${port}` })
  taken = fleet.cells.map(() => 0)
})
afterAll(async () => {
  balancer?.close()
  await fleet?.close()
})

test('a person signs in, and opens pages and sockets, whichever node each connection comes to', async () => {
  const [first] = fleet.cells
  if (first === undefined) throw new Error('There is no cell.')
  const { client, service } = first
  await makeSites(client, { private: 'token' })
  const { url } = (await client.get(`${SITES}/private`)).body
  const { page, complaints } = await newUser()
  await page.goto(url)
  await page.getByLabel('Access token').fill(service.adminToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(url, { waitUntil: 'commit' })
  for (let round = 0; round < 12; round++)
    expect(await page.evaluate(async () => (await fetch('/told', { method: 'POST' })).status)).toBe(200)
  const told = await page.evaluate(
    (host) =>
      new Promise<string>((resolve) => {
        new WebSocket(`ws://${host}/socket`).addEventListener('message', ({ data }) => resolve(String(data)))
      }),
    new URL(url).host,
  )
  expect(told).toBe('hello')
  await page.goto(`${url}.boxyard/sign-out`)
  await page.goto(url)
  expect(new URL(page.url()).hostname).toBe('sign-in.localhost')
  expect(complaints).toEqual([])
  for (const count of taken) expect(count).toBeGreaterThan(0)
})
