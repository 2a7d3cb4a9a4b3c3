import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { describeCandidates, findTestFiles } from '../../infra/jest/change.ts'
import { type Candidate, type CodeChange, chooseSuites, describeChoice } from '../../infra/jest/choice.ts'
import type { JestOutcome } from '../../infra/jest/run.ts'
import { CHOSEN_MINUTES, suitesBeside, suitesNamed, suitesOf } from '../../infra/jest/selection.ts'
import type { Suite } from '../../infra/jest/suite.ts'
import { SUITES } from '../../infra/jest/suites.ts'
import { deservesAnotherRun, judgeRuns } from '../../infra/jest/unsteady.ts'

describe('suites', () => {
  test('every test file is in a suite, and one runtime runs it in one suite only', () => {
    const all = globSync('tests/**/*.test.ts', { cwd: ROOT }).sort()
    const files = new Map(SUITES.map((each) => [each, findTestFiles(each)]))
    const suitesOfFile = (file: string): Suite[] => SUITES.filter((each) => files.get(each)?.has(file))
    expect(all.filter((file) => suitesOfFile(file).length === 0)).toEqual([])
    const onHost = all.map((file) => [
      file,
      ...suitesOfFile(file).flatMap((each) => (each.needsCluster ? [] : [each.name])),
    ])
    expect(onHost.filter(({ length }) => length > 2)).toEqual([])
  })

  test('a suite whose tests run programs of further packages has them installed', () => {
    const programs = {
      'tests/helpers/edge/chromium.ts': 'chromium',
      'tests/helpers/edge/acme-lab.ts': 'caddy',
      'tests/helpers/vm/emulator.ts': 'qemu-utils',
    }
    const setup = readFileSync(join(ROOT, 'infra/setup.sh'), 'utf8')
    for (const [helper, name] of Object.entries(programs)) {
      expect(/suite_packages=\([\s\S]*?\n\)/.exec(setup)?.[0]).toMatch(new RegExp(`\\b${name}\\b`))
      const users = describeCandidates(SUITES).filter(({ imports }) => imports.has(helper))
      expect(users.length).toBeGreaterThan(0)
      expect(users.filter(({ suite }) => suite.needsPackages !== true).map(({ suite }) => suite.name)).toEqual([])
    }
  })

  test('every suite has files, and every path of the table names something', () => {
    for (const suite of SUITES) {
      expect([suite.name, findTestFiles(suite).size > 0]).toEqual([suite.name, true])
      for (const beginning of suite.touchedBy)
        expect([beginning, globSync(`${beginning}*`, { cwd: ROOT }).length > 0]).toEqual([beginning, true])
    }
  })

  test('npm test needs no cluster, machine, peer or further package, and takes at most twelve minutes', () => {
    const { suites } = suitesOf([])
    for (const suite of suites)
      expect([suite.needsCluster, suite.lane, suite.peers, suite.needsPackages].filter(Boolean)).toEqual([])
    expect(suites.reduce((sum, { minutes }) => sum + minutes, 0)).toBeLessThanOrEqual(12)
    expect([...suites, ...suitesBeside()]).toHaveLength(SUITES.length)
  })

  test('CI runs every suite of a turn in one of the rounds, where nothing else is to be run', () => {
    const candidates = suitesBeside().map((suite) => ({
      suite,
      testFiles: new Set<string>(),
      imports: new Set<string>(),
    }))
    const inTurn = candidates.filter(({ suite }) => suite.turn !== null).map(({ suite }) => suite.name)
    const taken = Array.from({ length: 60 }, (_, commits) =>
      chooseSuites({ files: [], since: '', commits }, candidates, CHOSEN_MINUTES).run.map(({ suite }) => suite.name),
    )
    expect([...new Set(taken.flat())].sort()).toEqual(inTurn.sort())
    expect(Math.min(...taken.map(({ length }) => length))).toBeGreaterThanOrEqual(2)
  })

  test('arguments name suites, paths with pods for boxes, or patterns of files', () => {
    expect(suitesOf(['all'])).toEqual({ suites: SUITES, drawsAll: true })
    expect(suitesOf(['unit', 'fleet']).suites.map(({ name }) => name)).toEqual(['unit', 'fleet'])
    expect(suitesOf(['cluster', 'tests/e2e/model']).suites).toMatchObject([
      { name: 'cluster', paths: ['tests/e2e/model'] },
    ])
    expect(suitesOf(['unit', 'tests/e2e/model']).suites).toMatchObject([
      { name: 'paths', paths: ['unit', 'tests/e2e/model'] },
    ])
  })
})

const change = (files: string[], commits = 300): CodeChange => ({ files, since: 'the first parent (1234)', commits })
const suite = (name: string, turn: 0 | 1 | 2, touchedBy: string[] = []): Suite => {
  return { name, minutes: 5, turn, touchedBy, what: '', paths: [], workers: 1 }
}
const candidate = (of: Suite, testFiles: string[] = [], imports: string[] = []): Candidate => {
  return { suite: of, testFiles: new Set(testFiles), imports: new Set(imports) }
}
const namesOf = (list: readonly { suite: Suite }[]): string[] => list.map(({ suite: { name } }) => name)

describe('the choice of suites in CI', () => {
  const pods = candidate(
    suite('pods', 0, ['agent/drivers/pods/']),
    ['tests/cluster/life.test.ts'],
    ['shared/errors.ts'],
  )
  const web = candidate(suite('web', 1, ['web/']), ['tests/e2e/web/live.test.ts'], ['sdk/index.ts'])
  const peers = candidate(suite('peers', 2), ['tests/aws/deploy.test.ts'], ['shared/errors.ts'])

  test.each([
    ['a file of its subject', 'agent/drivers/pods/runtime-kube.ts', ['pods', 'peers']],
    ['a test file of its own', 'tests/e2e/web/live.test.ts', ['web', 'pods']],
    ['a file that its tests import', 'sdk/index.ts', ['web', 'pods']],
    ['a file that every test depends on', 'package-lock.json', ['pods', 'web', 'peers']],
    ['nothing of a suite', 'docs/cli.md', ['pods']],
  ])('takes a suite for %s, then those whose turn it is', (_what, file, expected) => {
    const turn = file.startsWith('agent') ? 302 : 300
    expect(namesOf(chooseSuites(change([file], turn), [pods, web, peers], 60).run)).toEqual(expected)
  })

  test('prefers subjects to imports, and imports to the rotation, where minutes are short', () => {
    const { run, leftOut } = chooseSuites(change(['shared/errors.ts', 'web/app.tsx'], 300), [pods, web, peers], 10)
    expect([namesOf(run), namesOf(leftOut)]).toEqual([['web', 'pods'], ['peers']])
  })

  test('three commits in a row take every suite once', () => {
    const taken = [300, 301, 302].flatMap((commits) =>
      namesOf(chooseSuites(change([], commits), [pods, web, peers], 60).run),
    )
    expect(taken.sort()).toEqual(['peers', 'pods', 'web'])
  })

  test('the log says what was chosen, what was not, and why', () => {
    const of = change(['web/app.tsx'], 300)
    expect(describeChoice(chooseSuites(of, [pods, web, peers], 6), of, 6)).toEqual([
      '1 file changed since the first parent (1234). Suites for the 6 minutes beside npm test:',
      '  web (5 min): web/app.tsx changed',
      'No time is left for these; run them with "npm test -- NAME":',
      '  pods (5 min): its turn in the rotation (300 commits, remainder 0 of 3)',
    ])
  })

  test('imports are followed through helpers into the product', () => {
    const [found] = describeCandidates(suitesNamed(['cluster']))
    expect(found?.imports).toContain('agent/drivers/pods/runtime-kube.ts')
    expect(found?.imports).toContain('shared/errors.ts')
    expect(found?.imports).not.toContain('web/src/main.tsx')
  })
})

describe('files that fail', () => {
  const outcome = (failedFiles: string[], rest: Partial<JestOutcome> = {}): JestOutcome => {
    const base = {
      passed: 10,
      failed: failedFiles.length,
      passedInFailedFiles: 2,
      isIncomplete: false,
      hadKilled: false,
    }
    return { ...base, failedFiles, ...rest }
  }
  const once = outcome(['a', 'b'])

  test('one that fails twice failed, and one that then passes is unsteady and fails the run as well', () => {
    const again = outcome(['a'], { passed: 3 })
    expect(judgeRuns(once, again, false)).toEqual({ passed: 11, failed: 2, unsteady: ['b'] })
  })

  test('only who asks for it by hand is forgiven an unsteady file', () => {
    expect(judgeRuns(once, outcome([], { passed: 5 }), true)).toEqual({ passed: 13, failed: 0, unsteady: ['a', 'b'] })
  })

  test('a few run once more; many, or a run that is not whole, do not', () => {
    expect(deservesAnotherRun(once)).toBe(true)
    expect(deservesAnotherRun(outcome([]))).toBe(false)
    expect(deservesAnotherRun(outcome(['a', 'b', 'c', 'd', 'e', 'f', 'g']))).toBe(false)
    expect(deservesAnotherRun(outcome(['a'], { isIncomplete: true }))).toBe(false)
  })
})
