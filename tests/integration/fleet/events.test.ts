import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Caller } from '../../../agent/core/common/caller.ts'
import type { ValueStream } from '../../../agent/core/common/value-streams.ts'
import type { FeedItem } from '../../../agent/core/events/feed.ts'
import { PEER_PATHS } from '../../../agent/server/peer-messages.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createDice } from '../../helpers/files/random-tree.ts'
import { createEventFleet, type EventCell, type EventFleet } from '../../helpers/fleet/event-cells.ts'

const AT_ONCE = { wait_seconds: 0, max_results: 1000 }
let fleet: EventFleet
let [aa, bb, cc]: EventCell[] = []

beforeEach(async () => {
  fleet = createEventFleet()
  ;[aa, bb, cc] = [await fleet.start('aa'), await fleet.start('bb'), await fleet.start('cc')]
})

afterEach(() => fleet.close())

describe('audit logs', () => {
  test('are read for other cells one at a time, by turns of accounts', async () => {
    const { trail } = one(bb)
    const { readOwn } = trail
    const reads: { actor: string | null; go: () => void }[] = []
    trail.readOwn = async (query) => {
      await new Promise<void>((resolve) => reads.push({ actor: query.actor, go: resolve }))
      return readOwn(query)
    }
    const list = (root: string, actor: string) =>
      one(aa).auditLog.list({ ...CALLER, projects: '*', root }, { max_results: 10, actor })
    const lists = [list('tok_busy', 'busy 1')]
    await eventually(() => reads.length === 1)
    for (const number of [2, 3]) lists.push(list('tok_busy', `busy ${number}`))
    // Waits for these before the next one is sent.
    await eventually(() => one(bb).asked.get(PEER_PATHS.audit) === 3)
    lists.push(list('tok_other', 'other'))
    await eventually(() => one(bb).asked.get(PEER_PATHS.audit) === 4)
    for (let turn = 1; turn <= 4; turn++) {
      await eventually(() => reads.length === turn)
      reads[turn - 1]?.go()
    }
    expect(reads.map(({ actor }) => actor)).toEqual(['busy 1', 'busy 2', 'other', 'busy 3'])
    for (const { missing } of await Promise.all(lists)) expect(missing).toEqual([])
  })
})

/** A client that follows a stream: received names, missing cells, and its last cursor. */
interface Follower {
  names: string[]
  missing: string[][]
  cursor: string | null
  problem: string | null
  leave(): Promise<void>
}

async function follow(
  door: EventCell,
  { since, caller = CALLER }: { since?: string; caller?: Caller } = {},
): Promise<Follower> {
  const stream: ValueStream<FeedItem> = await door.feed.follow(caller, caller === CALLER ? 'demo' : '-', {
    ...(since === undefined ? {} : { since }),
  })
  const made: Follower = { names: [], missing: [], cursor: since ?? null, problem: null, leave: () => stream.return() }
  const read = async (): Promise<void> => {
    for (let step = await stream.next(); step.done !== true; step = await stream.next()) {
      if (step.value.kind === 'failed') made.problem = step.value.error.code
      if (step.value.kind !== 'values') continue
      for (const { cursor, value } of step.value.values) {
        made.cursor = cursor
        if ('event' in value) made.names.push(nameOf(value.event))
        else made.missing.push([...value.missing])
      }
    }
  }
  void read()
  return made
}

const nameOf = ({ resource }: { resource: string }): string => String(resource.split('/').at(-1))

async function readNames(door: EventCell, since?: string) {
  const page = await door.feed.read(CALLER, 'demo', { ...AT_ONCE, ...(since === undefined ? {} : { since }) })
  return { ...page, names: page.events.map(nameOf) }
}

const one = (cell: EventCell | undefined): EventCell => {
  if (cell === undefined) throw new Error('the cell was not started')
  return cell
}

describe('who follows at one door', () => {
  test('is told the events of all cells, and a cursor goes on at any other door', async () => {
    const follower = await follow(one(aa), { since: 'now' })
    for (const [i, cell] of [aa, bb, cc, bb].entries()) {
      await one(cell).write(`web-${i}`)
      await eventually(() => follower.names.length === i + 1, 10)
    }
    expect(follower.names).toEqual(['web-0', 'web-1', 'web-2', 'web-3'])
    await follower.leave()
    await one(aa).write('web-4')
    const { names, missing } = await readNames(one(cc), String(follower.cursor))
    expect([names, missing]).toEqual([['web-4'], []])
  })

  test('is told what a cell had before anybody asked it, page by page', async () => {
    for (let i = 0; i < 250; i++) for (const cell of [aa, bb]) await one(cell).write(`${one(cell).cell}-${i}`)
    const names: string[] = []
    for (let since: string | undefined, hasMore = true; hasMore; ) {
      const page = await one(cc).feed.read(CALLER, 'demo', {
        wait_seconds: 0,
        max_results: 90,
        ...(since && { since }),
      })
      names.push(...page.events.map(nameOf))
      ;({ hasMore, nextCursor: since } = page)
    }
    const expected = ['aa', 'bb'].flatMap((cell) => Array.from({ length: 250 }, (_, i) => `${cell}-${i}`))
    expect(names.filter((name) => name.startsWith('aa'))).toEqual(expected.slice(0, 250))
    expect(names.filter((name) => name.startsWith('bb'))).toEqual(expected.slice(250))
    expect(names).toHaveLength(500)
  })

  test('is told of other projects nothing, whatever it waits for', async () => {
    const follower = await follow(one(aa), { since: 'now' })
    await eventually(() => (one(bb).asked.get(PEER_PATHS.tail) ?? 0) > 0)
    await one(bb).write('hidden', { project: 'other' })
    await one(bb).write('shown')
    await eventually(() => follower.names.length > 0)
    expect(follower.names).toEqual(['shown'])
    expect((await readNames(one(cc))).names).toEqual(['shown'])
  })

  test('costs another cell one connection, however many follow', async () => {
    const followers = await Promise.all(Array.from({ length: 50 }, () => follow(one(aa), { since: 'now' })))
    await one(bb).write('web')
    await eventually(() => followers.every(({ names }) => names.length === 1))
    const before = one(bb).asked.get(PEER_PATHS.events) ?? 0
    for (let i = 0; i < 20; i++) await one(bb).write(`web-${i}`)
    await eventually(() => followers.every(({ names }) => names.length === 21))
    expect(one(bb).asked.get(PEER_PATHS.tail)).toBeLessThanOrEqual(2)
    expect((one(bb).asked.get(PEER_PATHS.events) ?? 0) - before).toBe(0)
  })
})

describe('a cell that is killed', () => {
  test('is named as missing, and told from where it was once it is back', async () => {
    const follower = await follow(one(aa), { since: 'now' })
    await one(bb).write('before')
    await eventually(() => follower.names.length === 1)
    await one(bb).kill()
    await eventually(() => follower.missing.length > 0)
    await one(cc).write('meanwhile')
    await eventually(() => follower.names.length === 2)
    const page = await readNames(one(aa), String(follower.cursor))
    expect(page.missing).toEqual(['bb'])
    const back = await fleet.start('bb')
    await back.write('after')
    await eventually(() => follower.names.length === 3)
    expect(follower.names).toEqual(['before', 'meanwhile', 'after'])
    await eventually(() => follower.missing.length === 2)
    expect(follower.missing).toEqual([['bb'], []])
  })

  test('ends a stream once its events after the cursor were pruned', async () => {
    const follower = await follow(one(aa), { since: 'now' })
    await one(bb).write('before')
    await eventually(() => follower.names.length === 1)
    await one(bb).kill()
    await eventually(() => follower.missing.length > 0)
    await fleet.start('bb', async (store) => {
      await store.boxes.insert(boxRecord({ name: 'lost' }))
      await store.events.prune(Date.now() + 1, 0)
    })
    await eventually(() => follower.problem !== null)
    expect([follower.problem, follower.names]).toEqual(['cursor_expired', ['before']])
    await expect(readNames(one(cc), String(follower.cursor))).rejects.toMatchObject({ code: 'cursor_expired' })
  })
})

describe('a cell that was a host of its own', () => {
  test('is told on from the cursor of that time, through any door', async () => {
    await one(bb).kill()
    const alone = await fleet.startAlone('dd')
    await alone.write('first')
    const { nextCursor } = await readNames(alone)
    expect(Buffer.from(nextCursor, 'base64url').toString()).toBe('e1:1')
    await alone.write('second')
    await alone.kill()
    fleet.directory.delete('bb')
    const joined = await fleet.start('dd')
    await joined.write('third')
    for (const door of [joined, one(aa)]) expect((await readNames(door, nextCursor)).names).toEqual(['second', 'third'])
  })
})

describe('who is no agent', () => {
  test('reads nothing of a cell', async () => {
    for (const path of Object.values(PEER_PATHS)) {
      const body = JSON.stringify({ scope: { projects: '*', shared: true, admin: true }, since: null })
      const response = await fetch(`${one(bb).url}${path}`, { method: 'POST', body })
      expect([response.status, await response.json()]).toMatchObject([502, { code: 'agent_protocol' }])
    }
  })
})

test.each([[1], [2]])(
  'followers of all doors lose nothing and get nothing twice while cells are killed (seed %i)',
  async (seed) => {
    const dice = createDice(seed)
    const cells = new Map<string, EventCell>([one(aa), one(bb), one(cc)].map((cell) => [cell.cell, cell]))
    const written = new Map<string, string[]>([...cells.keys()].map((cell) => [cell, []]))
    const all: Follower[] = []
    const seen = new Map<number, string[]>()
    for (let round = 0, count = 0; round < 12; round++) {
      for (let i = 0; i < 15; i++) {
        const [name, cell] = [...cells][dice(cells.size)] as [string, EventCell]
        written.get(name)?.push(await cell.write(`${name}-${count++}`))
      }
      const [name, victim] = [...cells][dice(cells.size)] as [string, EventCell]
      const door = [...cells.values()].find((cell) => cell !== victim) as EventCell
      const last = all.at(-1)
      if (last !== undefined) await last.leave()
      all.push(await follow(door, typeof last?.cursor === 'string' ? { since: last.cursor } : {}))
      seen.set(round, all.at(-1)?.names ?? [])
      await victim.kill()
      await door.write(`${door.cell}-${count}`).then((made) => written.get(door.cell)?.push(made))
      count++
      if (dice(2) === 0) await eventually(() => (all.at(-1)?.missing.length ?? 0) > 0)
      cells.set(name, await fleet.start(name))
    }
    const total = [...written.values()].flat().length
    const names = (): string[] => [...seen.values()].flat()
    await eventually(() => names().length >= total)
    for (const [cell, expected] of written) expect(names().filter((name) => name.startsWith(cell))).toEqual(expected)
  },
)
