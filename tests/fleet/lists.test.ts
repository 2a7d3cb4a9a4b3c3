import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import type { Answer } from '../helpers/front/client.ts'
import { until } from '../helpers/pods/weather.ts'

let fleet: FleetOfTests
/** Cell of each volume of the project, by the volume's name. */
const volumes = new Map<string, string>()

beforeAll(async () => {
  fleet = await startFleet()
  const { client } = cellOf(0)
  for (const { cell, node } of fleet.cells) {
    for (const number of [1, 2]) {
      const made = await client.post(BOXES, { name: `${cell}-${number}`, node, tags: { at: cell } })
      expect(made.status).toBe(201)
    }
  }
  expect((await client.post('/v1/projects/second/boxes', { name: 'web', node: 'node-aa' })).status).toBe(201)
  // The fleet chooses the cell of a volume.
  for (let i = 0; new Set(volumes.values()).size < fleet.cells.length; i++) {
    const name = `data-${String(i).padStart(2, '0')}`
    expect((await client.post('/v1/projects/demo/data', { name, size_gb: 0.01 })).status).toBe(201)
    const { stdout } = fleet.plane.kubectl('--namespace=boxyard', 'get', 'home', `data.demo.${name}`, '-o', 'json')
    volumes.set(name, (JSON.parse(stdout) as { spec: { cell: string } }).spec.cell)
  }
})

afterAll(async () => {
  await fleet?.close()
})

function cellOf(index: number): CellOfTests {
  const cell = fleet.cells[index]
  if (cell === undefined) throw new Error(`There is no cell ${index}.`)
  return cell
}

const BOXES = '/v1/projects/demo/boxes'
const ALL = ['aa-1', 'aa-2', 'bb-1', 'bb-2', 'cc-1', 'cc-2']
const namesOf = (body: { [field: string]: unknown } | null, field = 'boxes'): string[] =>
  ((body?.[field] ?? []) as { name: string }[]).map(({ name }) => name)

/** Sends a request through every entry point until all responses are equal. A size may just have been measured. */
async function askAll(target: string) {
  let answers: Answer[] = []
  await until(async () => {
    answers = await Promise.all(fleet.cells.map(({ client }) => client.get(target)))
    return new Set(answers.map(({ status, text }) => `${status} ${text}`)).size === 1
  }, `${target} is the same through any door`)
  return answers[0] as Answer
}

describe('through any door', () => {
  test('lists of boxes have those of all cells, whole, in pages, by prefix, by tag and of all projects', async () => {
    expect(namesOf((await askAll(BOXES)).body)).toEqual(ALL)
    const first = (await askAll(`${BOXES}?max_results=4`)).body
    expect([namesOf(first), first?.has_more]).toEqual([ALL.slice(0, 4), true])
    const second = (await askAll(`${BOXES}?max_results=4&continuation_token=${first?.next_continuation_token}`)).body
    expect([namesOf(second), second?.has_more, second?.next_continuation_token]).toEqual([ALL.slice(4), false, null])
    expect(namesOf((await askAll(`${BOXES}?prefix=bb`)).body)).toEqual(['bb-1', 'bb-2'])
    expect(namesOf((await askAll(`${BOXES}?tag=at=cc`)).body)).toEqual(['cc-1', 'cc-2'])
    expect(namesOf((await askAll('/v1/projects/-/boxes')).body)).toEqual([...ALL, 'web'])
    expect(namesOf((await askAll('/v1/projects/nobody/boxes')).body)).toEqual([])
  })

  test('lists of volumes and bases have those of all cells', async () => {
    expect(namesOf((await askAll('/v1/projects/demo/data')).body, 'volumes')).toEqual([...volumes.keys()])
    expect((await cellOf(0).client.post('/v1/projects/demo/bases', { name: 'mine', box: 'bb-1' })).status).toBe(201)
    expect(namesOf((await askAll('/v1/projects/demo/bases')).body, 'bases')).toEqual(['mine'])
    // Each cell has built its host's base.
    const shared = await Promise.all(fleet.cells.map(({ client }) => client.get('/v1/bases')))
    for (const { body } of shared) expect(namesOf(body, 'bases')).toEqual(['busybox'])
    expect((await askAll('/v1/projects/demo/bases/mine')).body).toMatchObject({ name: 'mine', project: 'demo' })
    expect((await cellOf(2).client.delete('/v1/projects/demo/bases/mine')).status).toBe(204)
    expect((await askAll('/v1/projects/demo/bases')).body).toMatchObject({ bases: [] })
  })

  test('an operation is found by the number in its id', async () => {
    const [first, second] = ['cc', 'bb'].map((cell) => [...volumes].find(([, each]) => each === cell)?.[0])
    const started = await cellOf(0).client.post(`/v1/projects/demo/data/${first}/backups?wait_seconds=0`)
    expect(started.status).toBe(202)
    const operation = String(started.headers['operation-location'])
    expect(operation).toMatch(/\/opr_.{10}00cc.{12}$/)
    await until(async () => (await cellOf(1).client.get(operation)).body?.status === 'done', 'the backup is there')
    expect((await askAll(operation)).body).toMatchObject({ kind: 'backup.create', status: 'done' })
    expect((await cellOf(0).client.post(`/v1/projects/demo/data/${second}/backups`)).status).toBe(201)
    const { body } = await askAll('/v1/projects/demo/backups')
    expect(body?.backups?.map(({ volume }: { volume: string }) => volume)).toEqual([first, second])
  })

  test('a quota is set at all cells, and has the use of all', async () => {
    const set = await cellOf(1).client.put('/v1/projects/demo/quota', { allowed: { boxes: 2 } })
    expect([set.status, set.body?.used?.boxes]).toEqual([200, 6])
    expect((await askAll('/v1/projects/demo/quota')).body).toMatchObject({ allowed: { boxes: 2 }, used: { boxes: 6 } })
    expect((await cellOf(2).client.post(BOXES, { name: 'more' })).body?.code).toBe('quota_exceeded')
    expect((await cellOf(0).client.put('/v1/projects/demo/quota', { allowed: null })).status).toBe(200)
  })

  test('storage is that of all pools', async () => {
    const { body } = await cellOf(2).client.get('/v1/storage')
    expect(body?.cells?.map(({ cell }: { cell: string }) => cell).toSorted()).toEqual(['aa', 'bb', 'cc'])
    expect(body?.pool?.total_bytes).toBe(
      body?.cells?.reduce((sum: number, { pool }: { pool: { total_bytes: number } }) => sum + pool.total_bytes, 0),
    )
    expect(
      namesOf(body)
        .filter((name) => name !== 'web')
        .toSorted(),
    ).toEqual(ALL)
    expect((await cellOf(0).client.post('/v1/storage/scrub')).body).toMatchObject({ errors: 0 })
  })
})

test('an agent that was killed has its boxes told by their cards until it is back, and nothing else of it', async () => {
  await cellOf(1).service.killAgent()
  const doors = [cellOf(0).client, cellOf(2).client]
  for (const client of doors) {
    const listed = await client.get(BOXES)
    expect([listed.status, namesOf(listed.body)]).toEqual([200, ALL])
    const boxes = listed.body.boxes as { name: string; status: string }[]
    expect(boxes.filter(({ status }) => status === 'unknown').map(({ name }) => name)).toEqual(['bb-1', 'bb-2'])
    const got = await client.get(`${BOXES}/bb-1`)
    expect([got.status, got.body]).toEqual([200, boxes.find(({ name }) => name === 'bb-1')])
    expect(got.body).toMatchObject({
      state: { reason: 'host_lost', message: expect.stringContaining('cell bb') },
      base: 'busybox',
      node: 'node-bb',
      config: { ram_mb: 512, nesting: false },
      url: expect.stringContaining('bb-1--demo'),
    })
    const refused = [
      client.shell('demo', 'bb-1', 'true'),
      client.get(`${BOXES}/bb-1/metrics`),
      client.get('/v1/projects/demo/data'),
      client.get('/v1/projects/demo/quota'),
      client.get('/v1/storage'),
      client.put('/v1/projects/demo/quota', { allowed: { boxes: 100 } }),
    ]
    for (const { status, body } of await Promise.all(refused)) {
      expect([status, body?.code]).toEqual([503, 'agent_unavailable'])
      expect(body?.detail).toContain('cell bb')
    }
    expect(namesOf((await client.get('/v1/projects/second/data')).body, 'volumes')).toEqual([])
    expect((await client.shell('demo', 'aa-1', 'echo on')).body?.stdout).toBe('on\n')
  }
  await fleet.plane.stopServer()
  for (const target of [BOXES, `${BOXES}/bb-2`]) {
    const { status, body } = await cellOf(0).client.get(target)
    expect([status, body?.code, body?.detail]).toEqual([503, 'agent_unavailable', expect.stringContaining('cell bb')])
  }
  expect((await cellOf(0).client.get(`${BOXES}/aa-1`)).body?.status).toBe('running')
  await fleet.plane.startServer()
  await cellOf(1).service.startAgent()
  await until(async () => (await cellOf(0).client.get(`${BOXES}/bb-1`)).body?.status === 'running', 'bb is back')
  const { body } = await askAll(BOXES)
  expect(body?.boxes?.map(({ status }: { status: string }) => status)).toEqual(ALL.map(() => 'running'))
})
