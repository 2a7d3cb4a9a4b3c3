import { beforeEach, expect, test } from '@jest/globals'
import { createRateLimit } from '../../../agent/core/access/rate-limit.ts'
import type { HomeName } from '../../../agent/ports/fleet/directory.ts'
import { readByTurns, type TurnedDirectory } from '../../../agent/server/cells/directory-reads.ts'
import { createFairTurns } from '../../../shared/fair-turns.ts'
import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'

let nowMs: number
/** Reads without an answer yet, by the project of the name. */
let open: { project: string; answer: () => void }[]
let directory: TurnedDirectory

beforeEach(() => {
  open = []
  nowMs = 0
  const clock = { now: () => nowMs }
  const read = ({ project }: HomeName): Promise<null> =>
    new Promise((resolve) => open.push({ project, answer: () => resolve(null) }))
  const slow = { ...createTableDirectory(createHomeTable(), 'aa'), read, readKept: read }
  directory = readByTurns(slow, {
    turns: createFairTurns(4, 4),
    rateLimit: createRateLimit({ perSecond: 10, burst: 20, clock }),
  })
})

const named = (project: string): HomeName => ({ kind: 'box', project, name: 'nobodys' })
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('reads of one project leave room to the others, and what waits is read in turn', async () => {
  const many = [1, 2, 3, 4].map((i) =>
    i % 2 === 0 ? directory.read(named('busy')) : directory.readKept(named('busy')),
  )
  const other = directory.read(named('other'))
  await settle()
  expect(open.map(({ project }) => project)).toEqual(['busy', 'busy', 'other'])
  await expect(directory.read(named('busy'))).rejects.toMatchObject({ code: 'rate_limited' })
  for (let answered = 0; answered < 5; answered++) {
    open[answered]?.answer()
    await settle()
  }
  expect(await Promise.all([...many, other])).toEqual([null, null, null, null, null])
  expect(directory.find(named('busy'))).toBeNull()
})

test('reads of one project come at a bounded rate, whatever names they are for, and those of strangers beside it', async () => {
  const outcomes: unknown[] = []
  const ask = async (project: string, account?: string): Promise<void> => {
    const read = directory.read(named(project), account).catch(({ code }: { code: string }) => code)
    await settle()
    open.shift()?.answer()
    outcomes.push(await read)
  }
  for (let i = 0; i < 22; i++) await ask('busy', 'strangers')
  expect(outcomes.splice(0)).toEqual([...Array(20).fill(null), 'rate_limited', 'rate_limited'])
  for (let i = 0; i < 22; i++) await ask('busy')
  await ask('other')
  expect(outcomes).toEqual([...Array(20).fill(null), 'rate_limited', 'rate_limited', null])
  nowMs += 100
  await ask('busy')
  expect(outcomes.at(-1)).toBeNull()
})
