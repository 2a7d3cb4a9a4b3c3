import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'

// Tests bases of one cell at all cells, with real pools. A base is sent to each cell once, together with the base that it copies.

const BOXES = '/v1/projects/demo/boxes'
const BASES = '/v1/projects/demo/bases'
let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet()
  await makeSource('source', cellAt(0))
})

afterAll(async () => {
  await fleet?.close()
})

const cellAt = (index: number): CellOfTests => {
  const cell = fleet.cells[index]
  if (cell === undefined) throw new Error(`There is no cell ${index}.`)
  return cell
}

/** Creates a box on the node of a cell. It has a file that contains its name and has two hard links, and a large file. */
async function makeSource(name: string, { client, node }: CellOfTests): Promise<void> {
  const made = await client.post(BOXES, { name, node })
  expect(made.status).toBe(201)
  const fill = `echo ${name} >/mark && ln /mark /hard && chmod 751 /mark && dd if=/dev/urandom of=/big bs=1M count=8 2>/dev/null`
  expect((await client.shell('demo', name, fill)).body?.exit_code).toBe(0)
}

/** Creates a box from a base on the node of a cell, and returns what the box prints about the base. */
async function boxOf(base: string, { client, node }: CellOfTests, name: string): Promise<string> {
  const made = await client.post(BOXES, { name, base, node })
  expect([made.status, made.body?.code, made.body?.node]).toEqual([201, undefined, node])
  const told = await client.shell('demo', name, 'cat /mark; stat -c "%a %h" /mark; md5sum </big')
  return String(told.body?.stdout)
}

const objects = (): { name: string; spec: Record<string, unknown> }[] => {
  const { stdout } = fleet.plane.kubectl('--namespace=boxyard', 'get', 'bases', '-o', 'json')
  const { items } = JSON.parse(stdout) as { items: { metadata: { name: string }; spec: Record<string, unknown> }[] }
  return items.map(({ metadata, spec }) => ({ name: metadata.name, spec }))
}

/** Returns the bases that a cell has a record of, without those that it built for itself. */
const recordsAt = ({ service }: CellOfTests): Record<string, unknown>[] => {
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'), { readOnly: true })
  const rows = database.prepare("SELECT record FROM bases WHERE record ->> '$.source' <> 'host'").all()
  database.close()
  return rows.map(({ record }) => JSON.parse(String(record)) as Record<string, unknown>)
}

/** Returns the subvolumes in a cell's pool that have no record. */
const orphansAt = async ({ client }: CellOfTests): Promise<unknown[]> => (await client.get('/v1/storage')).body?.orphans

describe('a base', () => {
  test('that one cell has made is usable at all, and sent to each once', async () => {
    const [first, second, third] = [cellAt(0), cellAt(1), cellAt(2)]
    const made = await first.client.post(BASES, { name: 'tools', box: 'source' })
    expect(made.status).toBe(201)
    const { id, version } = made.body
    expect(objects()).toEqual([
      {
        name: 'demo.tools',
        spec: expect.objectContaining({ project: 'demo', name: 'tools', uid: id, version, cell: first.cell }),
      },
    ])
    const expected = await boxOf('tools', first, 'at-first')
    expect(expected).toMatch(/^source\n751 2\n[0-9a-f]{32}/)
    const names = Array.from({ length: 4 }, (_, i) => `at-once-${i}`)
    expect(await Promise.all(names.map((name) => boxOf('tools', second, name)))).toEqual(names.map(() => expected))
    expect(await boxOf('tools', third, 'at-third')).toBe(expected)
    for (const cell of [second, third])
      expect(recordsAt(cell)).toEqual([
        expect.objectContaining({ id, version, cell: first.cell, source: 'box:source' }),
      ])
  })

  test('is made where its box is, whatever door is asked, and once for all repeats', async () => {
    const headers = { 'idempotency-key': 'made-once' }
    const token = cellAt(0).service.adminToken
    const made = []
    for (const { client } of fleet.cells)
      made.push(await client.post(BASES, { name: 'once', box: 'source' }, { headers, token }))
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(made.map(({ body }) => body?.id)).size).toBe(1)
    expect(objects().find(({ name }) => name === 'demo.once')?.spec['cell']).toBe(cellAt(0).cell)
    const other = await cellAt(1).client.post(BASES, { name: 'once', box: 'source' })
    expect([other.status, other.body?.code, other.headers['x-boxyard-owner']]).toEqual([409, 'name_taken', undefined])
  })

  test('of all projects is usable in another one', async () => {
    const made = await cellAt(2).client.post(BASES, { name: 'common', box: 'source', shared: true })
    expect([made.status, made.body?.project]).toEqual([201, null])
    expect(objects().map(({ name }) => name)).toContain('common')
    const [, second] = fleet.cells
    const box = await cellAt(1).client.post('/v1/projects/other/boxes', {
      name: 'a',
      base: 'common',
      node: second?.node,
    })
    expect(box.status).toBe(201)
  })

  test('that is deleted goes everywhere, and the next of its name comes anew', async () => {
    const [first, second] = [cellAt(0), cellAt(1)]
    await makeSource('source-2', first)
    expect((await first.client.delete(`${BASES}/tools`)).status).toBe(204)
    await eventually(() => recordsAt(second).every(({ name }) => name !== 'tools'))
    const gone = await second.client.post(BOXES, { name: 'late', base: 'tools', node: second.node })
    expect([gone.status, gone.body?.code]).toEqual([404, 'base_not_found'])
    const again = await second.client.post(BASES, { name: 'tools', box: 'source-2' })
    expect([again.status, again.body?.version]).toEqual([201, 2])
    expect(await boxOf('tools', second, 'late')).toMatch(/^source-2\n/)
  })
})

describe('a cell that is killed', () => {
  test('while it is sent a base leaves nothing, and has it at the next use', async () => {
    const [first, third] = [cellAt(0), cellAt(2)]
    expect((await first.client.post(BASES, { name: 'big', box: 'source-2' })).status).toBe(201)
    const cut = third.client.post(BOXES, { name: 'cut', base: 'big', node: third.node }).catch(() => undefined)
    await third.service.killAgent()
    await cut
    await third.service.startAgent()
    await eventually(async () => (await boxOf('big', third, 'whole').catch(() => '')).startsWith('source-2'))
    await eventually(async () => (await orphansAt(third))?.length === 0)
    expect(recordsAt(third).filter(({ name }) => name === 'big')).toHaveLength(1)
  })

  test('has its bases at the others where they were sent, and those that were not are refused', async () => {
    const [first, second, third] = [cellAt(0), cellAt(1), cellAt(2)]
    expect((await first.client.post(BASES, { name: 'unsent', box: 'source' })).status).toBe(201)
    await first.service.killAgent()
    expect(await boxOf('big', third, 'still')).toMatch(/^source-2\n/)
    const refused = await second.client.post(BOXES, { name: 'never', base: 'unsent', node: second.node })
    expect([refused.status, refused.body?.code, refused.headers['retry-after']]).toEqual([
      503,
      'agent_unavailable',
      '2',
    ])
    await first.service.startAgent()
    expect(await boxOf('unsent', second, 'never')).toMatch(/^source\n/)
  })
})

test('nobody gets a base without a key of the channel', async () => {
  const { service } = cellAt(0)
  const [{ id } = {}] = recordsAt(cellAt(0))
  const path = `/cells/bases/${String(id)}`
  const direct = await fetch(service.agentUrl + path, { headers: { authorization: `Bearer ${service.adminToken}` } })
  expect([direct.status, direct.headers.get('x-boxyard-refusal')]).toEqual([502, 'unsigned'])
  expect((await cellAt(0).client.get(path)).status).toBe(404)
})
