import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createIdleBox } from '../e2e/boxes/idle-suite.ts'
import { edgePidsOf } from '../helpers/edge/processes.ts'
import { SLOW_SERVER } from '../helpers/edge/slow-server.ts'
import { startSteadyLoad } from '../helpers/edge/steady-load.ts'
import { askUrl } from '../helpers/edge/url-client.ts'
import { createVisitor } from '../helpers/edge/visitor.ts'
import { eventually } from '../helpers/eventually.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { edgePortOf, splitByOwner } from '../helpers/fleet/edges.ts'

const BOXES = '/v1/projects/demo/boxes'
const WEB = `${BOXES}/web`

let fleet: FleetOfTests
let owner: CellOfTests
let others: CellOfTests[]
let url: string

/** Returns the first cell that does not have the box. */
const other = (): CellOfTests => {
  const [cell] = others
  if (cell === undefined) throw new Error('There is one cell alone.')
  return cell
}
const token = (): string => owner.service.adminToken
const versionOf = (text: string): { command: string[] } => {
  const line = `mkdir -p /srv/$PORT; echo ${text} > /srv/$PORT/index.html; exec httpd -f -p $PORT -h /srv/$PORT`
  return { command: ['/bin/sh', '-c', line] }
}

beforeAll(async () => {
  fleet = await startFleet()
  const [first] = fleet.cells
  if (first === undefined) throw new Error('There is no cell.')
  const made = await first.client.post(BOXES, { name: 'web', config: { ram_mb: 128 } })
  expect(made.status).toBe(201)
  url = made.body.url
  ;({ owner, others } = splitByOwner(fleet, 'demo', 'web'))
  const spec = { ...versionOf('first'), port: 8080, grace_seconds: 2, readiness: { tcp: true, interval_seconds: 0.1 } }
  expect((await first.client.put(`${WEB}/services/page`, spec)).status).toBe(201)
})

afterAll(async () => {
  await fleet?.close()
})

describe('the URL of a box', () => {
  test('is used through any node, by whom its owner lets pass', async () => {
    for (const cell of fleet.cells) {
      const through = edgePortOf(cell)
      expect((await askUrl(url, { through })).status).toBe(401)
      expect(await askUrl(url, { through, token: token() })).toMatchObject({ status: 200, text: 'first\n' })
    }
  })

  test('is signed in to through any node', async () => {
    for (const cell of fleet.cells) {
      const person = createVisitor({ through: edgePortOf(cell) })
      expect(await person.signIn(url, token())).toMatchObject({ status: 200, text: 'first\n' })
      const out = await person.visit(`${url}.boxyard/sign-out`, { headers: { 'sec-fetch-site': 'same-origin' } })
      expect(out.status).toBe(200)
      expect((await person.visit(url)).status).toBe(302)
    }
  })

  test('serves no failed request through another node while versions change', async () => {
    const load = startSteadyLoad(url, { perSecond: 50, token: token(), through: edgePortOf(other()) })
    for (let round = 0; round < 3; round++) {
      expect((await other().client.post(`${WEB}/services/page/deploy`, versionOf(`v${round}`))).status).toBe(200)
      expect((await other().client.post(`${WEB}/services/page/promote`)).status).toBe(200)
    }
    const { sent, failures, bodies } = await load.stop()
    expect(failures).toEqual([])
    expect([...bodies.values()].reduce((sum, count) => sum + count, 0)).toBe(sent)
    expect(bodies.size).toBeGreaterThan(1)
    expect((await askUrl(url, { through: edgePortOf(other()), token: token() })).text).toBe('v2\n')
  })

  test('of a service with a name that is too long for a label is led as well', async () => {
    const name = 'a-service-of-a-name-that-fits-in-no-label-beside-those-of-box'
    const made = await other().client.put(`${WEB}/services/${name}`, { ...versionOf('long'), port: 8090 })
    expect([made.status, made.body.active_url]).toEqual([201, expect.stringMatching(/\/\/s-/)])
    for (const cell of fleet.cells) {
      const ask = () => askUrl(made.body.active_url, { through: edgePortOf(cell), token: token() })
      await eventually(async () => (await ask()).status === 200)
      expect((await ask()).text).toBe('long\n')
    }
    expect((await other().client.delete(`${WEB}/services/${name}`)).status).toBe(204)
  })

  test('wakes its box through another node', async () => {
    expect((await other().client.put(WEB, { url_settings: { wake: true } })).status).toBe(200)
    expect((await other().client.post(`${WEB}/stop`)).status).toBe(200)
    const through = edgePortOf(other())
    expect((await askUrl(url, { through })).status).toBe(401)
    expect((await other().client.get(WEB)).body.status).toBe('stopped')
    expect(await askUrl(url, { through, token: token() })).toMatchObject({ status: 200, text: 'v2\n' })
  })

  test('keeps its box awake while it is used through another node, and idle stop ends it after that', async () => {
    const { client, node } = owner
    const box = '/v1/projects/idle/boxes/visited'
    const { url: address } = (await client.post('/v1/projects/idle/boxes', { name: 'visited', node })).body
    const web = { command: ['/bin/sh', '-c', SLOW_SERVER], port: 8080, readiness: { tcp: true } }
    expect((await client.put(`${box}/services/web`, web)).body.state).toBe('running')
    await client.put(box, { url_settings: { auth: 'public', wake: true } })
    const through = edgePortOf(other())
    const answer = askUrl(`${address}cgi-bin/slow`, { through })
    for (const name of ['visited', 'unused']) await createIdleBox(client, name)
    const isStopped = async (name: string): Promise<boolean> =>
      (await other().client.get(`/v1/projects/idle/boxes/${name}`)).body.status === 'stopped'
    await eventually(() => isStopped('unused'))
    expect(await isStopped('visited')).toBe(false)
    expect((await other().client.shell('idle', 'visited', 'touch /tmp/end')).body.exit_code).toBe(0)
    expect(await answer).toMatchObject({ status: 200, text: 'slow\n' })
    await eventually(() => isStopped('visited'))
    expect(await askUrl(address, { through })).toMatchObject({ status: 200, text: 'quick\n' })
    await eventually(() => isStopped('visited'))
  })

  test('is that of a new box of its name, wherever that is', async () => {
    for (const cell of fleet.cells) {
      const made = await cell.client.post(BOXES, { name: 'moving', node: cell.node, config: { ram_mb: 64 } })
      expect(made.status).toBe(201)
      expect(
        (await cell.client.shell('demo', 'moving', 'echo at $HOSTNAME > /index.html; httpd -p 8080 -h /')).status,
      ).toBe(200)
      for (const { service, ...at } of fleet.cells)
        expect(
          await askUrl(made.body.url, { through: edgePortOf({ service, ...at }), token: service.adminToken }),
        ).toMatchObject({ status: 200, text: 'at moving\n' })
      expect((await cell.client.delete(`${BOXES}/moving`)).status).toBe(204)
    }
  })
})

describe('while something is away', () => {
  test('the API server: URLs go on through every node', async () => {
    const loads = fleet.cells.map((cell) =>
      startSteadyLoad(url, { perSecond: 20, token: token(), through: edgePortOf(cell) }),
    )
    await fleet.plane.stopServer()
    expect((await owner.client.shell('demo', 'web', 'sleep 1')).status).toBe(200)
    await fleet.plane.startServer()
    for (const load of loads) expect((await load.stop()).failures).toEqual([])
  })

  test('the agents of owner and front: what was led before goes on', async () => {
    const through = edgePortOf(other())
    expect((await askUrl(url, { through, token: token() })).status).toBe(200)
    await owner.service.killAgent()
    await other().service.killAgent()
    expect((await askUrl(url, { through, token: token() })).status).toBe(200)
    await owner.service.startAgent()
    await other().service.startAgent()
    expect((await askUrl(url, { through, token: token() })).status).toBe(200)
  })

  test('the edge of the owner: the front says so, to clients and in its health', async () => {
    const through = edgePortOf(other())
    expect((await askUrl(url, { through, token: token() })).status).toBe(200)
    await owner.service.killAgent()
    for (const pid of edgePidsOf(owner.service)) process.kill(pid, 'SIGKILL')
    await eventually(() => edgePidsOf(owner.service).length === 0)
    const answer = await askUrl(url, { through, token: token() })
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'agent_unavailable'])
    const told = async (): Promise<string[]> =>
      (await other().client.get('/healthz')).body.problems.map(({ code }: { code: string }) => code)
    expect(await told()).toContain('cell_edge_away')
    await owner.service.startAgent()
    await eventually(async () => (await askUrl(url, { through, token: token() })).status === 200)
    await eventually(async () => !(await told()).includes('cell_edge_away'))
  })
})
