import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'

let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet()
})

afterAll(async () => {
  await fleet?.close()
})

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

  test('says in its health that it cannot tell the fleet, and goes on', async () => {
    const made = await clientOf(0).post('/v1/projects/demo/boxes', { name: 'steady' })
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
