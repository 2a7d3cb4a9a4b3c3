import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  type AuditAnswer,
  type AuditLog,
  createAuditLog,
  createVectorAuditCursors,
} from '../../../agent/core/events/audit-list.ts'
import { CALLER } from '../../helpers/caller.ts'
import { createDice } from '../../helpers/files/random-tree.ts'
import { createModelCell, type ModelCell } from '../../helpers/fleet/model-history.ts'

let cells: [ModelCell, ModelCell, ModelCell]
let log: AuditLog

beforeEach(() => {
  cells = [createModelCell('aa'), createModelCell('bb'), createModelCell('cc')]
  log = logOf(cells)
})

function logOf([own, ...others]: readonly [ModelCell, ...ModelCell[]]): AuditLog {
  return createAuditLog({ own, others: { cells: () => others }, cursors: createVectorAuditCursors() })
}

const namesOf = ({ records }: AuditAnswer): string[] => records.map(({ requestId }) => requestId)

function list(max: number, token: string | null = null, from: AuditLog = log): Promise<AuditAnswer> {
  return from.list(CALLER, { max_results: max, ...(token === null ? {} : { continuation_token: token }) })
}

/** Reads to the end, in pages of `max`. */
async function readAll(max: number, doors: readonly AuditLog[] = [log]): Promise<string[]> {
  const names: string[] = []
  for (let [token, turn]: [string | null, number] = [null, 0]; ; turn++) {
    const page = await list(max, token, doors[turn % doors.length])
    expect(page.records.length).toBeLessThanOrEqual(max)
    names.push(...namesOf(page))
    if (page.next === null) return names
    token = page.next
  }
}

describe('the audit log of a fleet', () => {
  test('is told newest first, over all cells and through any door', async () => {
    const [aa, bb, cc] = cells
    for (const [one, at] of [
      [aa, 1],
      [bb, 2],
      [aa, 3],
      [cc, 4],
      [bb, 5],
    ] as const)
      one.write(at)
    const expected = ['bb 2', 'cc 1', 'aa 2', 'bb 1', 'aa 1']
    expect(await readAll(2, [log, logOf([bb, cc, aa]), logOf([cc, aa, bb])])).toEqual(expected)
    expect(await readAll(100)).toEqual(expected)
  })

  test('names a cell that is away, and goes on without it to the end', async () => {
    const [aa, bb] = cells
    for (const at of [1, 2, 3]) for (const one of [aa, bb]) one.write(at)
    bb.isAway = true
    const first = await list(2)
    expect([namesOf(first), first.missing]).toEqual([['aa 3', 'aa 2'], ['bb']])
    bb.isAway = false
    const second = await list(2, first.next)
    expect([namesOf(second), second.missing, second.next]).toEqual([['aa 1'], ['bb'], null])
    expect((await list(2)).missing).toEqual([])
  })

  test('leaves out what a cell that joined since the first page has', async () => {
    const [aa, bb] = cells
    for (const at of [1, 2]) aa.write(at)
    const { next } = await list(1)
    const later = createModelCell('dd')
    later.write(9)
    const page = await list(10, next, logOf([aa, bb, cells[2], later]))
    expect([namesOf(page), page.next]).toEqual([['aa 1'], null])
  })

  test('refuses a token of no page', async () => {
    for (const token of ['x', Buffer.from('["12"]').toString('base64url')])
      await expect(list(1, token)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test.each(Array.from({ length: 20 }, (_, seed) => [seed]))(
    'has each entry once, in the order of its cell (seed %i)',
    async (seed) => {
      const dice = createDice(seed)
      let clock = 1_000
      for (let i = 0; i < 200; i++) {
        clock += dice(20)
        ;(cells[dice(3)] as ModelCell).write(clock - dice(60))
      }
      for (const each of cells) each.pageMax = 1 + dice(9)
      const names = await readAll(1 + dice(20))
      for (const { cell, newest } of cells) {
        const numbers = Array.from({ length: newest() }, (_, i) => `${cell} ${newest() - i}`)
        expect(names.filter((name) => name.startsWith(`${cell} `))).toEqual(numbers)
      }
    },
  )
})
