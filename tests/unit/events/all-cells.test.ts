import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  AT_OLDEST,
  type FleetPage,
  positionNow,
  positionOf,
  readAllCells,
} from '../../../agent/core/events/all-cells.ts'
import { createVectorCursors, type EventPosition } from '../../../agent/core/events/positions.ts'
import type { EventScope, InTurn } from '../../../agent/ports/store/events.ts'
import { createDice } from '../../helpers/files/random-tree.ts'
import { createModelCell, type ModelCell } from '../../helpers/fleet/model-history.ts'

const SCOPE: EventScope = { projects: '*', shared: true, admin: true }
const atOnce: InTurn = (work) => work((part) => part())
const signal = new AbortController().signal
let cells: ModelCell[]

beforeEach(() => {
  cells = ['aa', 'bb', 'cc'].map(createModelCell)
})

function histories(from = cells) {
  const [own, ...others] = from
  if (own === undefined) throw new Error('there is no cell')
  return { own, others: { cells: () => others } }
}

function read(after: EventPosition, { limit = 100, from = cells } = {}): Promise<FleetPage> {
  return readAllCells(histories(from), {
    ...{ scope: SCOPE, types: [], account: 'a', inTurn: atOnce, signal },
    ...{ after, limit },
  })
}

const told = ({ events }: FleetPage): string[] => events.map(({ value }) => value.resource)
const cell = (name: string): ModelCell => cells.find((each) => each.cell === name) as ModelCell

describe('a cell that is away', () => {
  test('is named, while the others go on, and catches up once it is back', async () => {
    for (const each of cells) each.write(10)
    cell('bb').isAway = true
    const first = await read(AT_OLDEST)
    expect([told(first), first.missing, first.hasMore]).toEqual([['aa 1', 'cc 1'], ['bb'], false])
    cell('aa').write(20)
    cell('bb').isAway = false
    const second = await read(first.through)
    expect([told(second), second.missing]).toEqual([['bb 1', 'aa 2'], []])
    expect(told(await read(second.through))).toEqual([])
  })

  test('that the directory does not know at the moment is named by those who have read of it', async () => {
    for (const each of cells) each.write(10)
    const { through } = await read(AT_OLDEST)
    const [own] = cells as [ModelCell]
    const page = await read(through, { from: [own] })
    expect([page.missing, told(page)]).toEqual([['bb', 'cc'], []])
    expect(page.through).toEqual(through)
  })

  test('begins with what it wrote since, for who asked for what is to come', async () => {
    for (const each of cells) each.write(10)
    cell('bb').isAway = true
    const begin = await positionNow(histories(), SCOPE, 100_000)
    cell('bb').write(100_001)
    cell('aa').write(100_001)
    cell('bb').isAway = false
    expect(told(await read(begin))).toEqual(['aa 2', 'bb 2'])
  })
})

describe('a cell that joins later', () => {
  test('is told from its beginning', async () => {
    const later = createModelCell('dd')
    later.write(5)
    cell('aa').write(10)
    const { through } = await read(AT_OLDEST)
    expect(told(await read(through, { from: [...cells, later] }))).toEqual(['dd 1'])
  })

  test('is told from the time at which the reader began with what is to come', async () => {
    const later = createModelCell('dd')
    for (const at of [5, 200_000]) later.write(at)
    const begin = await positionNow(histories(), SCOPE, 100_000)
    expect(told(await read(begin, { from: [...cells, later] }))).toEqual(['dd 2'])
  })
})

describe('a cursor', () => {
  test('expires with the part of any cell', async () => {
    for (const each of cells) for (const at of [1, 2, 3]) each.write(at)
    const decoded = {
      cells: new Map([
        ['aa', 1],
        ['bb', 1],
        ['cc', 1],
      ]),
      since: null,
    }
    expect(await positionOf(histories(), decoded, SCOPE)).toEqual(decoded)
    cell('cc').prune(2)
    await expect(positionOf(histories(), decoded, SCOPE)).rejects.toMatchObject({ code: 'cursor_expired' })
    await expect(read(decoded)).rejects.toMatchObject({ code: 'cursor_expired' })
  })

  test('expires where a cell has fewer events than it says, as after a restore', async () => {
    cell('bb').write(1)
    const decoded = { cells: new Map([['bb', 2]]), since: null }
    await expect(positionOf(histories(), decoded, SCOPE)).rejects.toMatchObject({ code: 'cursor_expired' })
  })

  test('of a host that was alone is that of its cell at any door, and the others begin with their oldest', async () => {
    for (const at of [1, 2, 3]) cell('bb').write(at)
    cell('bb').aloneThrough = 3
    cell('aa').write(4)
    const position = await positionOf(histories(), { alone: 2 }, SCOPE)
    expect(told(await read(position))).toEqual(['bb 3', 'aa 1'])
  })

  test('of a host that was alone is refused where nobody can tell whose it was', async () => {
    for (const at of [1, 2, 3]) for (const each of cells) each.write(at)
    await expect(positionOf(histories(), { alone: 2 }, SCOPE)).rejects.toMatchObject({ code: 'cursor_expired' })
    for (const name of ['aa', 'bb']) cell(name).aloneThrough = 3
    await expect(positionOf(histories(), { alone: 2 }, SCOPE)).rejects.toMatchObject({ code: 'cursor_expired' })
    cell('cc').isAway = true
    await expect(positionOf(histories(), { alone: 2 }, SCOPE)).rejects.toMatchObject({ code: 'agent_unavailable' })
  })
})

describe('under random writes, absences, clocks and readers that begin anew', () => {
  test.each(Array.from({ length: 40 }, (_, seed) => [seed]))(
    'nothing is lost, nothing comes twice (seed %i)',
    async (seed) => {
      const random = createDice(seed)
      const cursors = createVectorCursors()
      let clock = 1_000
      let position = AT_OLDEST
      const seen: string[] = []
      for (let step = 0; step < 300; step++) {
        clock += random(50)
        const one = cells[random(cells.length)] as ModelCell
        if (random(10) < 7) one.write(clock - random(200))
        else if (random(3) === 0) one.isAway = !one.isAway
        one.pageMax = 1 + random(7)
        if (cells.length < 6 && random(60) === 0) cells.push(createModelCell(`n${cells.length}`))
        if (random(2) === 0) continue
        // Any cell answers, and the client accepts the page up to any of its events.
        const door = [...cells.slice(random(cells.length)), ...cells].filter((each, i, all) => all.indexOf(each) === i)
        const reachable = door.filter(({ isAway }) => !isAway)
        if (reachable.length === 0) continue
        const page = await read(position, {
          limit: 1 + random(9),
          from: [...reachable, ...door.filter((each) => each.isAway)],
        })
        const taken = random(4) === 0 ? page.events.slice(0, random(page.events.length + 1)) : page.events
        seen.push(...taken.map(({ value }) => value.resource))
        const reached = new Map(position.cells)
        for (const { cell, number } of taken) reached.set(cell, number)
        position = taken.length === page.events.length ? page.through : { ...position, cells: reached }
        position = cursors.decode(cursors.encode(position)) as EventPosition
      }
      for (const each of cells) each.isAway = false
      for (let hasMore = true; hasMore; ) {
        const page = await read(position, { limit: 7 })
        seen.push(...told(page))
        ;({ hasMore, through: position } = page)
      }
      for (const each of cells) {
        const own = seen.filter((name) => name.startsWith(`${each.cell} `))
        expect(own).toEqual(Array.from({ length: each.newest() }, (_, i) => `${each.cell} ${i + 1}`))
      }
    },
  )
})
