import type { BoxyardEvent } from '@boxyard/sdk'
import { expect, test } from '@jest/globals'
import { type EventReader, isSelected, joinEvents, missingIn, readBefore } from '../../../web/src/api/event-history.ts'

const NOW = Date.parse('2026-01-31T00:00:00Z')
const MINUTE = 60_000

const eventAt = (at: number, id: string): BoxyardEvent =>
  ({ id, ts: new Date(at).toISOString(), type: 'box.created', project: 'yard', resource: '', data: {} }) as BoxyardEvent

/** Makes a service with events of these ages in ms, which returns 1,000 at once. Counts its answers. */
function serviceOf(ages: readonly number[]): { read: EventReader; count(): number } {
  const all = ages.toSorted((a, b) => b - a).map((age, index) => eventAt(NOW - age, `evt_${index}`))
  let answers = 0
  const read: EventReader = async (since) => {
    answers++
    const begin = since.startsWith('e') ? Number(since.slice(1)) : all.findIndex(({ ts }) => ts >= since)
    const from = begin < 0 ? all.length : begin
    const events = all.slice(from, from + 1000)
    const next = from + events.length
    return { events, has_more: next < all.length, next_cursor: `e${next}` }
  }
  return { read, count: () => answers }
}

async function readAll(read: EventReader): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = []
  let pages = 0
  for (let before: number | null | undefined; before !== null; pages++) {
    const page = await readBefore(read, before ?? null, { now: NOW })
    ids.push(...page.events.map(({ id }) => id))
    before = page.before
  }
  return { ids, pages }
}

test.each([
  ['nothing', []],
  ['an event of days ago', [5 * 1440 * MINUTE]],
  ['some an hour', Array.from({ length: 160 }, (_, hour) => hour * 60 * MINUTE)],
  ['at the ends of spans', [0, 15, 15, 16, 240, 255, 256].map((minutes) => minutes * MINUTE)],
  ['many at once', Array.from({ length: 9_000 }, (_, number) => 30 * MINUTE + Math.floor(number / 100))],
])('each event is read once, newest first: %s', async (_what, ages) => {
  const { read, count } = serviceOf(ages)
  const { ids } = await readAll(read)
  expect(ids).toEqual(ages.map((_, index) => `evt_${index}`).toReversed())
  expect(count()).toBeLessThan(60)
})

test('a busy yard is read back a piece at a time', async () => {
  const { read } = serviceOf(Array.from({ length: 40_000 }, (_, second) => second * 100))
  const page = await readBefore(read, null, { now: NOW })
  expect(page.events[0]?.id).toBe('evt_39999')
  expect(page.events.length).toBeGreaterThan(50)
  expect(page.events.length).toBeLessThan(4_000)
  expect(page.before).not.toBeNull()
})

test('what comes live is on top, each event once', () => {
  const [a, b, c] = [eventAt(NOW, 'a'), eventAt(NOW, 'b'), eventAt(NOW, 'c')]
  expect(joinEvents([c, b], [b, a])).toEqual([c, b, a])
})

test('a filter selects by kind and project', () => {
  const event = eventAt(NOW, 'a')
  expect(isSelected({ project: '', kind: '', box: '' }, event)).toBe(true)
  expect(isSelected({ project: 'yard', kind: 'box', box: '' }, event)).toBe(true)
  expect(isSelected({ project: 'other', kind: '', box: '' }, event)).toBe(false)
  expect(isSelected({ project: '', kind: 'bo', box: '' }, event)).toBe(false)
})

test('a filter selects the events of a box, of its snapshots and services, and of volumes attached to it', () => {
  const filter = { project: 'yard', kind: '', box: 'web' }
  const of = (type: string, path: string, data = {}) =>
    isSelected(filter, { type, project: 'yard', resource: `/v1/projects/yard/${path}`, data })
  expect(of('box.created', 'boxes/web')).toBe(true)
  expect(of('service.promoted', 'boxes/web/services/api')).toBe(true)
  expect(of('data.attached', 'data/db', { box: 'web' })).toBe(true)
  expect(of('data.attached', 'data/db', { box: 'web-2' })).toBe(false)
  expect(of('data.updated', 'data/db', { box: 'web' })).toBe(false)
  expect(of('box.created', 'boxes/web-2')).toBe(false)
  expect(of('box.created', 'boxes/other', { box: 'web' })).toBe(false)
})

test('a rare event in a busy project is found by several pages of bounded work', async () => {
  const { read, count } = serviceOf(Array.from({ length: 90_000 }, (_, number) => number * 1_000))
  const isShown = ({ id }: BoxyardEvent): boolean => id === 'evt_9'
  let reads = 0
  const found: string[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = await readBefore(read, before ?? null, { now: NOW, isShown })
    expect(count() - reads).toBeLessThan(120)
    reads = count()
    found.push(...page.events.map(({ id }) => id))
    before = page.before
  }
  expect(found).toEqual(['evt_9'])
})

test('cells that did not answer one of the reads are named, each once', async () => {
  const { read } = serviceOf([5 * MINUTE, 300 * MINUTE])
  let count = 0
  const readWithout: EventReader = async (since) => ({
    ...(await read(since)),
    ...(count++ < 2 ? { missing_cells: ['cc', 'bb'] } : {}),
  })
  const page = await readBefore(readWithout, null, { now: NOW })
  expect(page.events.length).toBe(2)
  expect(missingIn([page, page])).toEqual(['bb', 'cc'])
})
