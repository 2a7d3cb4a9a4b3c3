import { expect, test } from '@jest/globals'
import { Campaign, type LoggedRun } from '../../mutation/campaign.ts'
import type { TestRun } from '../../mutation/jest-keeper.ts'
import { listMutants } from '../../mutation/mutants.ts'

const MUTANTS = listMutants('agent/core/a.ts', 'export const sum = [1, 2, 3, 4, 5, 6]\n')

interface ImaginedFile {
  reaches: number[]
  kills: number[]
  /** Mutants that keep the test from reaching all later ones. */
  hides?: number[]
  hangs?: number[]
  ms?: number
}

/** A campaign over simulated test files, and the runs that it logs. */
function imagine(files: Record<string, ImaginedFile>, { lastFrom = 99 } = {}) {
  const runs: LoggedRun[] = []
  const run = (file: string, { mutants }: { mutants: readonly number[] }): Promise<TestRun> => {
    const { reaches, kills, hides = [], hangs = [], ms = 1 } = files[file] ?? { reaches: [], kills: [] }
    const hider = mutants.find((mutant) => hides.includes(mutant)) ?? Infinity
    const reached = reaches.filter((mutant) => mutant <= hider)
    const hit = (those: number[]): boolean =>
      mutants.some((mutant) => reached.includes(mutant) && those.includes(mutant))
    return Promise.resolve({ end: hit(hangs) ? 'timeout' : hit(kills) ? 'failed' : 'passed', ms, reached })
  }
  const names = Object.keys(files)
  const suites = [names.slice(0, lastFrom), names.slice(lastFrom)]
  const campaign = new Campaign({ mutants: MUTANTS, suites, keeper: { run }, log: (run) => runs.push(run) })
  return { campaign, runs, statuses: () => MUTANTS.map((_, mutant) => campaign.verdictOf(mutant).status) }
}

const never = (): boolean => false
/** Kills nothing. As the fastest file, it runs each mutant separately first. */
const BLIND = { reaches: [0, 1, 2, 3, 4, 5], kills: [], ms: 0 }
const BLIND_FILES = { 'blind.test.ts': BLIND, 'other.test.ts': BLIND }

test('a mutant is killed by one file, survives all that reach it, or is not reached', async () => {
  const { campaign, statuses } = imagine({
    'a.test.ts': { reaches: [0, 1, 2], kills: [0] },
    'b.test.ts': { reaches: [1, 2], kills: [2], hangs: [1] },
    'c.test.ts': { reaches: [0, 3], kills: [] },
  })
  await campaign.run(never)
  expect(statuses()).toEqual(['killed', 'timeout', 'killed', 'survived', 'not reached', 'not reached'])
  expect(campaign.verdictOf(2)).toMatchObject({ by: 'b.test.ts' })
})

test('a group that fails is split down to the mutant that it kills', async () => {
  const { campaign, statuses, runs } = imagine({
    ...BLIND_FILES,
    'late.test.ts': { reaches: [0, 1, 2, 3, 4, 5], kills: [3] },
  })
  await campaign.run(never)
  expect(statuses()).toEqual(['survived', 'survived', 'survived', 'killed', 'survived', 'survived'])
  expect(runs.filter(({ file }) => file === 'late.test.ts').map(({ mutants }) => mutants.length)).toEqual([
    0, 6, 3, 3, 2, 1, 1, 1,
  ])
})

test('a mutant that another one hides runs again', async () => {
  const late = { reaches: [0, 1, 2, 3, 4, 5], kills: [4], hides: [1] }
  const { campaign, statuses } = imagine({ ...BLIND_FILES, 'late.test.ts': late })
  await campaign.run(never)
  expect(statuses()).toEqual(['survived', 'survived', 'survived', 'survived', 'killed', 'survived'])
})

test('a file that fails without a mutant does not count', async () => {
  const { campaign, statuses } = imagine({ 'a.test.ts': { reaches: [0], kills: [] } })
  campaign.replay({ file: 'a.test.ts', mutants: [], end: 'failed', ms: 1, reached: [0] })
  await campaign.run(never)
  expect(campaign.brokenFiles).toEqual(['a.test.ts'])
  expect(statuses()[0]).toBe('not reached')
})

test('a second start continues where the first one stopped, with the same result', async () => {
  const files = { ...BLIND_FILES, 'late.test.ts': { reaches: [0, 1, 2], kills: [2] } }
  const whole = imagine(files, { lastFrom: 2 })
  await whole.campaign.run(never)
  for (let stop = 0; stop < whole.runs.length; stop += 1) {
    const first = imagine(files, { lastFrom: 2 })
    await first.campaign.run(() => first.runs.length >= stop)
    expect(first.statuses()).toContain('unfinished')
    const second = imagine(files, { lastFrom: 2 })
    for (const run of first.runs) second.campaign.replay(run)
    await second.campaign.run(never)
    expect(second.statuses()).toEqual(whole.statuses())
    expect(second.runs.length).toBeLessThanOrEqual(whole.runs.length)
  }
})
