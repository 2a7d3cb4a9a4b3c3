import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { startService } from '../helpers/service.ts'

let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet()
})

afterAll(async () => {
  await fleet?.close()
})

/** All entry points get the same token, like a client that retries elsewhere. */
const TOKEN = (): string => fleet.cells[0]?.service.adminToken ?? ''

/** Returns the settings that identify the cell of a service. */
const settingsOf = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    ['BOXYARD_CELL', 'BOXYARD_NODE', 'BOXYARD_KUBECONFIG'].map((name) => [name, environment[name] ?? '']),
  )

const clientOf = (index: number) => {
  const cell = fleet.cells[index]
  if (cell === undefined) throw new Error(`There is no cell ${index}.`)
  return cell.client
}

describe('a box', () => {
  test('is used, changed and deleted through any door', async () => {
    const made = await clientOf(0).post('/v1/projects/demo/boxes', { name: 'web' })
    expect(made.status).toBe(201)
    for (const { client } of fleet.cells) {
      const got = await client.get('/v1/projects/demo/boxes/web')
      expect([got.status, got.body?.id]).toEqual([200, made.body.id])
      expect((await client.shell('demo', 'web', 'echo $HOSTNAME')).body?.stdout).toBe('web\n')
    }
    expect((await clientOf(1).put('/v1/projects/demo/boxes/web', { tags: { by: 'bb' } })).status).toBe(200)
    expect((await clientOf(2).get('/v1/projects/demo/boxes/web')).body?.tags).toEqual({ by: 'bb' })
    expect((await clientOf(1).delete('/v1/projects/demo/boxes/web')).status).toBe(204)
    for (const { client } of fleet.cells) expect((await client.get('/v1/projects/demo/boxes/web')).status).toBe(404)
  })
})

describe('a create', () => {
  const boxes = '/v1/projects/making/boxes'
  const nodeOf = async (name: string): Promise<string> => (await clientOf(0).get(`${boxes}/${name}`)).body?.node

  test('comes to the node that it names, through any door', async () => {
    for (const { node } of fleet.cells) {
      const made = await clientOf(0).post(boxes, { name: `on-${node}`, node })
      expect([made.status, made.body?.node]).toEqual([201, node])
    }
    const refused = await clientOf(0).post(boxes, { name: 'nowhere', node: 'node-zz' })
    expect([refused.status, refused.body?.errors?.[0]?.pointer]).toEqual([400, '/node'])
  })

  test('that races through all doors makes one box, and tells the others so', async () => {
    for (let round = 0; round < 5; round++) {
      const name = `raced-${round}`
      const made = await Promise.all(fleet.cells.map(({ client }) => client.post(boxes, { name })))
      expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    }
  })

  test('that is repeated with its key through other doors makes one box, and has one answer', async () => {
    for (let round = 0; round < 5; round++) {
      const options = { headers: { 'idempotency-key': `once-${round}` } }
      const body = { name: `once-${round}` }
      const made = await Promise.all(
        fleet.cells.map(({ client }) => client.post(boxes, body, { token: TOKEN(), ...options })),
      )
      for (const { status, body: problem } of made)
        expect([201, problem?.code]).toContain(status === 409 ? 'idempotency_in_progress' : status)
      const again = await Promise.all(
        fleet.cells.map(({ client }) => client.post(boxes, body, { token: TOKEN(), ...options })),
      )
      expect(again.map(({ status }) => status)).toEqual([201, 201, 201])
      expect(new Set([...made, ...again].flatMap(({ body: box }) => box?.id ?? []))).toHaveProperty('size', 1)
    }
  })

  test('of a fork, or with a volume, is made where that is', async () => {
    const [, second] = fleet.cells
    await clientOf(0).post(boxes, { name: 'source', node: second?.node })
    for (const [index, { client }] of fleet.cells.entries())
      expect((await client.post(boxes, { name: `fork-${index}`, fork: 'source' })).body?.node).toBe(second?.node)
    const volume = await clientOf(2).post('/v1/projects/making/data', { name: 'pg' })
    expect(volume.status).toBe(201)
    const box = await clientOf(1).post(boxes, { name: 'with-pg', data_mounts: [{ name: 'pg', path: '/pg' }] })
    expect(box.status).toBe(201)
    expect((await clientOf(0).shell('making', 'with-pg', 'echo kept >/pg/file && cat /pg/file')).body?.stdout).toBe(
      'kept\n',
    )
    const others = fleet.cells.filter(({ node }) => node !== box.body?.node)
    const made = await clientOf(0).post(boxes, { name: 'far', node: others[0]?.node })
    expect(made.status).toBe(201)
    const refused = await clientOf(1).post('/v1/projects/making/data/pg/attach', {
      box: 'far',
      path: '/pg',
      read_only: true,
    })
    expect([refused.status, refused.body?.code]).toEqual([409, 'volume_on_other_node'])
    expect(await nodeOf('far')).toBe(others[0]?.node)
  })

  test('that is sent to cells which cannot be reached is made by another', async () => {
    const [, second] = fleet.cells
    await second?.service.killAgent()
    const made = []
    for (let i = 0; i < 12; i++) made.push(await clientOf(0).post(boxes, { name: `around-${i}` }))
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
    await second?.service.startAgent()
  })
})

describe('a cell', () => {
  test('tells the fleet where it is reached, and how it fares', () => {
    const { stdout } = fleet.plane.kubectl('--namespace=boxyard', 'get', 'agents', '-o', 'json')
    const told = (JSON.parse(stdout) as { items: { spec: object; status: object }[] }).items
    expect(told.map(({ spec }) => spec)).toEqual(
      fleet.cells.map(({ cell, node, service }) =>
        expect.objectContaining({
          cell,
          node,
          channelUrl: service.agentUrl,
          dataUrl: service.dataUrl,
          region: 'local',
        }),
      ),
    )
    for (const { status } of told) expect(status).toMatchObject({ ready: true, draining: false, bases: ['busybox'] })
  })

  test('is not taken over by another data directory', async () => {
    const [first] = fleet.cells
    const { service } = first ?? { service: null }
    const other = await startService({
      settings: { ...settingsOf(service?.environment ?? {}), BOXYARD_RUNTIME: 'embedded', BOXYARD_CELL_EDGE_PORT: '0' },
    })
    try {
      await eventually(() => other.logs.some((line) => line.includes('belongs to another data directory')))
      const made = await other.request('/v1/projects/demo/boxes', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'nobodys', node: first?.node }),
      })
      expect([made.status, await made.json()]).toEqual([
        503,
        expect.objectContaining({
          code: 'runtime_unavailable',
          detail: expect.stringContaining('belongs to another data directory'),
        }),
      ])
      const { stdout } = fleet.plane.kubectl('--namespace=boxyard', 'get', 'agent/aa', '-o', 'json')
      expect(JSON.parse(stdout).spec.channelUrl).toBe(service?.agentUrl)
    } finally {
      await other.close()
    }
  })

  test('says in its health that it cannot tell the fleet, and goes on', async () => {
    const made = await clientOf(0).post('/v1/projects/demo/boxes', { name: 'steady', node: fleet.cells[0]?.node })
    expect(made.status).toBe(201)
    await fleet.plane.stopServer()
    const [first] = fleet.cells
    await first?.service.killAgent()
    await first?.service.startAgent()
    const health = await clientOf(0).get('/healthz')
    expect(health.body?.problems?.map(({ code }: { code: string }) => code)).toContain('fleet_untold')
    expect((await clientOf(0).shell('demo', 'steady', 'echo on')).body?.stdout).toBe('on\n')
    const refused = await clientOf(0).post('/v1/projects/demo/boxes', { name: 'late' })
    expect([refused.status, refused.body?.code]).toEqual([503, 'runtime_unavailable'])
    await fleet.plane.startServer()
  })
})
