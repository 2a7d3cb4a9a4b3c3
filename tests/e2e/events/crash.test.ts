import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

interface Event {
  id: string
  type: string
  resource: string
  data: { id: string; status?: string }
}

const BOXES = '/v1/projects/demo/boxes'
const FEED = '/v1/projects/demo/events?max_results=1000'
let service: TestService
let client: Client

beforeAll(async () => {
  service = await startService()
  client = createClient(
    () => service.url,
    () => service.adminToken,
  )
})

afterAll(() => service.close())

/** Creates, stops and deletes boxes of a few names until `isOver`. Failed requests are fine. */
async function churn(worker: number, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn++) {
    const box = `${BOXES}/w${worker}-${turn % 3}`
    await client.post(`${BOXES}?wait_seconds=${turn % 2}`, { name: box.slice(BOXES.length + 1) }).catch(restALittle)
    if (turn % 2 === 0) await client.post(`${box}/stop`).catch(restALittle)
    if (turn % 5 !== 0) await client.delete(box).catch(restALittle)
  }
}

/** Follows the events across all restarts, until `isOver` and no more arrive. */
async function follow(isOver: () => boolean): Promise<Event[]> {
  const seen: Event[] = []
  for (let cursor = ''; ; ) {
    const wasOver = isOver()
    const answer = await client.get(`${FEED}&wait_seconds=1${cursor}`).catch(restALittle)
    const page = answer?.status === 200 ? answer.body : { events: [] }
    seen.push(...page.events)
    if (page.next_cursor !== undefined) cursor = `&since=${page.next_cursor}`
    if (wasOver && page.events.length === 0) return seen
  }
}

async function restALittle(): Promise<null> {
  await pause(20)
  return null
}

/** Returns ids and statuses of boxes by path, as derived from the events. */
function replay(events: readonly Event[]): Map<string, { id: string; status: string }> {
  const boxes = new Map<string, { id: string; status: string }>()
  for (const { type, resource, data } of events) {
    const what = type.replace('box.', '')
    if (what === 'created') boxes.set(resource, { id: data.id, status: String(data.status) })
    else if (what === 'deleted') boxes.delete(resource)
    else if (STATUSES.includes(what)) boxes.set(resource, { id: data.id, status: what })
  }
  return boxes
}

async function listed(): Promise<Map<string, { id: string; status: string }>> {
  const { body } = await client.get(`${BOXES}?max_results=1000`)
  const boxes = body.boxes as { id: string; name: string; status: string }[]
  return new Map(boxes.map(({ id, name, status }) => [`${BOXES}/${name}`, { id, status }]))
}

test('events replay to the current state after kills during creates, stops and deletes', async () => {
  const state = { isLoadOver: false, isOver: false }
  const follower = follow(() => state.isOver)
  const load = Promise.all([0, 1, 2].map((worker) => churn(worker, () => state.isLoadOver)))
  try {
    for (let kills = 0; kills < 3; kills++) {
      const { next_cursor: before } = (await client.get(`${FEED}&since=now`)).body
      await eventually(async () => (await client.get(`${FEED}&since=${before}`)).body.events.length > 10)
      await service.killAgent()
      await service.startAgent()
    }
    state.isLoadOver = true
    await load
    await eventually(async () => [...(await listed()).values()].every(({ status }) => status !== 'pending'))
  } finally {
    state.isLoadOver = state.isOver = true
  }
  const seen = await follower
  const { body } = await client.get(FEED)
  const events = body.events as Event[]
  expect(body.has_more).toBe(false)
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  expect(seen).toEqual(events)
  expect(replay(events)).toEqual(await listed())
  expect(events.filter(({ type }) => type === 'box.deleted').length).toBeGreaterThan(0)
})

const STATUSES = ['pending', 'running', 'stopped', 'unknown']
