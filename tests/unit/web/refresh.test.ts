import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { QueryObserver } from '../../../web/node_modules/@tanstack/query-core/build/modern/index.js'
import { boxesQuery, boxQuery, projectsQuery } from '../../../web/src/api/queries.ts'
import { createQueryClient } from '../../../web/src/api/query-client.ts'
import { createRefresher, type Refresher } from '../../../web/src/api/refresh.ts'
import { eventually } from '../../helpers/eventually.ts'
import { definePageGlobals } from '../../helpers/web/page-globals.ts'

type Queries = ReturnType<typeof createQueryClient>

/** A request whose answer is held, with the yard's state at its arrival. */
interface Held {
  path: string
  response: ServerResponse
  answer(): void
}

/** The service's boxes, from name to status. */
const yard = new Map<string, string>()
const paths: string[] = []
const held: Held[] = []
let isHolding = (_path: string): boolean => false
let queries: Queries
let refresher: Refresher

const server = createServer(({ url = '' }, response) => {
  const path = url.replace(/\?.*/, '')
  paths.push(path)
  const [status, body] = stateOf(path)
  const answer = (): void => void response.writeHead(status, JSON_TYPE).end(JSON.stringify(body))
  if (isHolding(path)) held.push({ path, response, answer })
  else answer()
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  definePageGlobals(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

beforeEach(() => {
  yard.clear()
  for (const name of ['one', 'two']) yard.set(name, 'running')
  paths.length = 0
  isHolding = () => false
  queries = createQueryClient()
  refresher = createRefresher(queries)
})

afterEach(() => {
  for (const each of held.splice(0)) each.response.destroy()
  queries.clear()
})

afterAll(() => void server.close())

const JSON_TYPE = { 'content-type': 'application/json' }
const ONE = { project: 'yard', name: 'one' }
const BOXES = '/v1/projects/-/boxes'
const BOX_ONE = '/v1/projects/yard/boxes/one'

function stateOf(path: string): [number, unknown] {
  const boxes = [...yard].map(([name, status]) => ({ project: 'yard', name, status }))
  if (path === BOXES) return [200, { boxes, has_more: false, next_continuation_token: null }]
  if (path === '/v1/projects') return [200, { projects: [], has_more: false, next_continuation_token: null }]
  const box = boxes.find(({ name }) => path.endsWith(`/${name}`))
  return box ? [200, box] : [404, { code: 'box_not_found', detail: 'gone', status: 404 }]
}

/** Changes the yard as the service does: first the state, then the event. */
function become(name: string, status: string | null): void {
  if (status === null) yard.delete(name)
  else yard.set(name, status)
  refresher.take({ type: `box.${status ?? 'deleted'}`, resource: `/v1/projects/yard/boxes/${name}` } as never)
}

const shownBox = (): string | undefined => queries.getQueryData(boxQuery(ONE).queryKey)?.status
const shownList = (): string[] | undefined =>
  queries.getQueryData(boxesQuery.queryKey)?.map(({ name, status }) => `${name} ${status}`)
const count = (path: string): number => paths.filter((each) => each === path).length
/** Shows a query as a page does, and waits for its first read. */
async function show(options: { queryKey: readonly unknown[] }): Promise<() => void> {
  const observer = new QueryObserver(queries, options)
  const hide = observer.subscribe(() => undefined)
  await eventually(() => observer.getCurrentResult().isSuccess, 1)
  return hide
}

describe('an event', () => {
  test('of a box is on its page and in the list by one read', async () => {
    await show(boxQuery(ONE))
    await show(boxesQuery)
    become('one', 'stopped')
    await eventually(() => shownBox() === 'stopped', 1)
    await eventually(() => shownList()?.[0] === 'one stopped', 1)
    expect(count(BOX_ONE)).toBe(2)
    expect(count(BOXES)).toBe(1)
    become('one', null)
    await eventually(() => shownList()?.length === 1, 1)
  })

  test('that comes during a read is not answered by what that has read', async () => {
    isHolding = (path) => path === BOX_ONE && held.length === 0
    await show(boxesQuery)
    become('one', 'pending')
    await eventually(() => held.length === 1, 1)
    become('one', 'running')
    become('one', 'stopped')
    refresher.flush()
    held[0]?.answer()
    await eventually(() => shownList()?.[0] === 'one stopped', 1)
  })

  test('cancels a read that a page has begun before', async () => {
    await show(boxQuery(ONE))
    isHolding = (path) => path === BOX_ONE && held.length === 0
    void queries
      .getQueryCache()
      .find({ queryKey: boxQuery(ONE).queryKey })
      ?.fetch()
    await eventually(() => held.length === 1, 1)
    become('one', 'stopped')
    // The first read never gets an answer.
    await eventually(() => shownBox() === 'stopped', 1)
  })

  test('that comes during the first read of a page is followed by another', async () => {
    isHolding = (path) => path === BOX_ONE && held.length === 0
    const shown = show(boxQuery(ONE))
    await eventually(() => held.length === 1, 1)
    become('one', 'stopped')
    refresher.flush()
    expect(count(BOX_ONE)).toBe(1)
    held[0]?.answer()
    await shown
    await eventually(() => shownBox() === 'stopped', 1)
  })

  test('is shown also where the list was read meanwhile, from a time before', async () => {
    await show(boxesQuery)
    isHolding = (path) => path === BOXES
    void queries.invalidateQueries({ queryKey: boxesQuery.queryKey })
    await eventually(() => held.length === 1, 1)
    become('one', 'stopped')
    become('two', null)
    await eventually(() => shownList()?.join() === 'one stopped', 1)
    held[0]?.answer()
    await eventually(() => queries.isFetching() === 0, 1)
    expect(shownList()).toEqual(['one stopped'])
  })

  test('of many boxes reads the list, and those whose page is open', async () => {
    await show(boxesQuery)
    await show(boxQuery(ONE))
    for (let number = 0; number < 30; number++) become(`more-${number}`, 'running')
    become('one', 'stopped')
    await eventually(() => shownList()?.length === 32 && shownBox() === 'stopped', 1)
    expect(paths.filter((path) => path.includes('more-'))).toEqual([])
    expect(count(BOXES)).toBe(2)
  })

  test('of a box that nobody shows reads nothing, and is seen when it is shown', async () => {
    const hide = await show(boxQuery(ONE))
    hide()
    paths.length = 0
    become('one', 'stopped')
    become('two', 'stopped')
    refresher.flush()
    expect(queries.isFetching()).toBe(0)
    await show(boxQuery(ONE))
    await eventually(() => shownBox() === 'stopped', 1)
    expect(paths).toEqual([BOX_ONE])
  })

  test('is not lost where the tab is hidden before it was read', async () => {
    await show(boxQuery(ONE))
    become('one', 'stopped')
    refresher.flush()
    await eventually(() => shownBox() === 'stopped', 1)
    expect(count(BOX_ONE)).toBe(2)
  })
})

test('in a row of events a slow list is read again and again, each time to its end', async () => {
  await show(projectsQuery)
  isHolding = (path) => path === '/v1/projects'
  become('one', 'pending')
  await eventually(() => held.length === 1, 1)
  become('one', 'running')
  refresher.flush()
  become('one', 'stopped')
  refresher.flush()
  expect(held).toHaveLength(1)
  held[0]?.answer()
  await eventually(() => held.length === 2, 1)
  held[1]?.answer()
  await eventually(() => queries.isFetching() === 0, 1)
  expect(held).toHaveLength(2)
})
