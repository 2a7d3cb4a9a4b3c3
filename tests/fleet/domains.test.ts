import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { askUrl } from '../helpers/edge/url-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { domainsOf, edgePortOf } from '../helpers/fleet/edges.ts'
import type { Answer } from '../helpers/front/client.ts'

const BOXES = '/v1/projects/demo/boxes'

let fleet: FleetOfTests
/** Number of the next domain names. */
let next = 0
/** Names of boxes, one on the node of each cell, in the order of the cells. */
let names: string[]

const cellAt = (index: number): CellOfTests => {
  const cell = fleet.cells[index]
  if (cell === undefined) throw new Error(`There is no cell ${index}.`)
  return cell
}
const publish = (index: number, ...domains: string[]): Promise<Answer> =>
  cellAt(index).client.post(`${BOXES}/${names[index]}/publish`, { domains })
const unpublish = (index: number, ...domains: string[]): Promise<Answer> =>
  cellAt(index).client.post(`${BOXES}/${names[index]}/unpublish`, { domains })

beforeAll(async () => {
  fleet = await startFleet(['aa', 'bb'])
})
beforeEach(async () => {
  next += 1
  names = fleet.cells.map(({ cell }) => `${cell}-${next}`)
  for (const [index, name] of names.entries()) {
    const { client, node } = cellAt(index)
    expect((await client.post(BOXES, { name, node, config: { ram_mb: 64 } })).status).toBe(201)
  }
})
afterAll(async () => {
  await fleet?.close()
})

test('a domain belongs to one box of the fleet, and is served through every node', async () => {
  expect((await publish(0, 'shop.example.org')).status).toBe(200)
  const taken = await publish(1, 'other.example.org', 'shop.example.org')
  expect([taken.status, taken.body.code]).toEqual([409, 'domain_taken'])
  expect(domainsOf(fleet)).toEqual({ 'shop.example.org': `demo/${names[0]}/` })
  await cellAt(0).client.shell('demo', names[0] ?? '', 'echo shop > /index.html; httpd -p 8080 -h /')
  for (const cell of fleet.cells) {
    const asked = { through: edgePortOf(cell), token: cell.service.adminToken }
    expect(await askUrl('http://shop.example.org/', asked)).toMatchObject({ status: 200, text: 'shop\n' })
    expect((await askUrl('http://nobody.example.org/', asked)).status).toBe(404)
  }
  expect((await unpublish(0, 'shop.example.org')).status).toBe(200)
  expect((await publish(1, 'shop.example.org')).status).toBe(200)
  await cellAt(1).client.shell('demo', names[1] ?? '', 'echo moved > /index.html; httpd -p 8080 -h /')
  for (const cell of fleet.cells) {
    const ask = () => askUrl('http://shop.example.org/', { through: edgePortOf(cell), token: cell.service.adminToken })
    await eventually(async () => (await ask()).text === 'moved\n')
  }
})

test('a race at two cells has one winner for each domain, and the others leave nothing', async () => {
  const domains = Array.from({ length: 20 }, (_, index) => `race-${index}.example.org`)
  const outcomes = await Promise.all(
    domains.map(async (domain) => {
      const answers = await Promise.all([publish(0, domain), publish(1, domain)])
      return answers.map(({ status }) => status)
    }),
  )
  for (const outcome of outcomes) expect(outcome.toSorted()).toEqual([200, 409])
  const told = domainsOf(fleet)
  for (const [index, domain] of domains.entries())
    expect(told[domain]).toBe(`demo/${names[outcomes[index]?.indexOf(200) ?? 2]}/`)
})

test('it goes to a service of the same box, and is free once that or the box is deleted', async () => {
  const at = `${BOXES}/${names[0]}`
  const { client } = cellAt(0)
  await client.put(`${at}/services/page`, { command: ['/bin/sleep', '1000'], port: 8080 })
  expect((await publish(0, 'a.example.org', 'b.example.org')).status).toBe(200)
  expect((await client.post(`${at}/services/page/publish`, { domains: ['a.example.org'] })).status).toBe(409)
  await unpublish(0, 'a.example.org')
  expect((await client.post(`${at}/services/page/publish`, { domains: ['a.example.org'] })).status).toBe(200)
  expect(domainsOf(fleet)).toMatchObject({
    'a.example.org': `demo/${names[0]}/page`,
    'b.example.org': `demo/${names[0]}/`,
  })
  expect((await client.delete(`${at}/services/page`)).status).toBe(204)
  await eventually(() => domainsOf(fleet)['a.example.org'] === undefined)
  expect((await client.delete(at)).status).toBe(204)
  expect(domainsOf(fleet)['b.example.org']).toBeUndefined()
  expect((await publish(1, 'a.example.org', 'b.example.org')).status).toBe(200)
})

test('while the API server is away none is published, and what is given up is free once it is back, over a crash', async () => {
  expect((await publish(0, 'kept.example.org', 'gone.example.org')).status).toBe(200)
  expect((await publish(1, 'deleted.example.org')).status).toBe(200)
  await fleet.plane.stopServer()
  const refused = await publish(0, 'late.example.org')
  expect([refused.status, refused.body.code]).toEqual([503, 'runtime_unavailable'])
  expect(await unpublish(0, 'gone.example.org')).toMatchObject({ status: 200 })
  expect((await cellAt(1).client.delete(`${BOXES}/${names[1]}`)).status).toBe(204)
  for (const index of [0, 1]) await cellAt(index).service.killAgent()
  for (const index of [0, 1]) await cellAt(index).service.startAgent()
  await fleet.plane.startServer()
  await eventually(() => {
    const told = domainsOf(fleet)
    return told['gone.example.org'] === undefined && told['deleted.example.org'] === undefined
  })
  expect(domainsOf(fleet)).toMatchObject({ 'kept.example.org': `demo/${names[0]}/` })
  await eventually(async () => (await publish(0, 'late.example.org', 'deleted.example.org')).status === 200)
})

test('one that the cluster has lost is claimed again; one that another has by then is told of', async () => {
  expect((await publish(0, 'lost.example.org', 'stolen.example.org')).status).toBe(200)
  const kubectl = (...args: string[]) => fleet.plane.kubectl('--namespace=boxyard', ...args)
  kubectl('delete', 'domain', 'lost.example.org', 'stolen.example.org')
  expect((await publish(1, 'stolen.example.org')).status).toBe(200)
  await cellAt(0).service.killAgent()
  await cellAt(0).service.startAgent()
  await eventually(() => domainsOf(fleet)['lost.example.org'] === `demo/${names[0]}/`)
  const told = (await cellAt(0).client.get('/healthz')).body.problems as { code: string; evidence: string }[]
  expect(told.find(({ code }) => code === 'domain_conflict')?.evidence).toContain('"stolen.example.org"')
})
