import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findLeftovers, findTraces, type Traces } from '../tests/helpers/leftovers.ts'
import { findTestCluster } from './cluster/test-cluster.ts'
import { ROOT } from './commands.ts'
import { describeCandidates, readChange } from './jest/change.ts'
import { chooseSuites, describeChoice } from './jest/choice.ts'
import { PEERS } from './jest/peers.ts'
import { type Counts, runJest } from './jest/run.ts'
import { CHOSEN_MINUTES, type Chosen, suitesBeside, suitesNamed, suitesOf } from './jest/selection.ts'
import type { Suite } from './jest/suite.ts'
import { prepareTimes, readTimes } from './jest/times.ts'
import { deservesAnotherRun, judgeRuns } from './jest/unsteady.ts'
import { processorMsIn, readStatFields } from './proc-stat.ts'
import { bundleServices } from './release/bundle.ts'
import { ensureConsole } from './web/build.ts'

/**
 * `npm test` runs the suites that show a newcomer that a change holds. `npm test -- all` (`npm run test:all`) runs every suite, with
 * nothing left to a draw. `npm test -- chosen` runs the suites that CI chooses beside `npm test`. `npm test -- SUITE…` runs suites by name
 * (infra/jest/suites.ts). `npm test -- cluster PATH…` runs paths with pods for boxes. Other arguments are jest's patterns. A skipped test,
 * a test file that does not load, a process that does not end, anything left behind and a missing peer count as failed. Only the failed
 * files run once more. A file that then passes is `UNSTEADY`, which also fails the run, unless TEST_ALLOW_UNSTEADY=1.
 */
async function main(args: readonly string[]): Promise<void> {
  const startedAt = performance.now()
  const { suites, drawsAll } = args[0] === 'chosen' && args.length === 1 ? chooseForChange() : suitesOf(args)
  if (drawsAll) process.env['TEST_DRAW'] = 'all'
  rmSync(SUMMARY, { force: true })
  const counts = suites.length === 0 ? [] : await runAll(suites, drawsAll)
  const total = addCounts(counts)
  if (total.passed + total.failed === 0 && suites.length > 0) {
    process.stdout.write('No test ran.\n')
    total.failed = 1
  }
  writeFileSync(SUMMARY, `${total.passed} ${total.failed}\n`)
  const took = `${inMinutes(performance.now() - startedAt)}, ${Math.round(processorMsIn(readStatFields('self')) / 1000)} s of processor`
  process.stdout.write(`tests: ${total.passed} passed, ${total.failed} failed (${took})\n`)
  process.exitCode = total.failed === 0 ? 0 : 1
}

/** Chooses the suites that CI runs beside `npm test`, and prints the reasons. */
function chooseForChange(): Chosen {
  const change = readChange()
  const choice = chooseSuites(change, describeCandidates(suitesBeside()), CHOSEN_MINUTES)
  for (const line of describeChoice(choice, change, CHOSEN_MINUTES)) process.stdout.write(`${line}\n`)
  return { suites: suitesNamed(choice.run.map(({ suite }) => suite.name)), drawsAll: false }
}

async function runAll(suites: readonly Suite[], drawsAll: boolean): Promise<Counts[]> {
  if (suites.some(({ needsPackages }) => needsPackages === true)) installPackages()
  ensureConsole()
  bundleServices(ROOT, { agent: `${BUNDLES}/agent`, front: `${BUNDLES}/functions` })
  process.env['TEST_BUNDLES'] = BUNDLES
  const limited = suites.map((suite) => ({
    ...suite,
    limitMinutes: (suite.limitMinutes ?? SUITE_MINUTES) * (drawsAll ? 4 : 1),
  }))
  const beside = Map.groupBy(
    limited.filter(({ lane }) => lane !== undefined),
    ({ lane }) => lane,
  )
  const inTurn = limited.filter(({ lane }) => lane === undefined)
  const first = await Promise.all([
    runInTurn(inTurn.filter(({ needsCluster }) => needsCluster !== true)),
    ...[...beside.values()].map(runLane),
  ])
  // Kubernetes gives up on work that a busy machine does too late.
  const last = await runInTurn(inTurn.filter(({ needsCluster }) => needsCluster === true))
  return [...first, last]
}

/** Installs the Debian packages of suites beyond `npm test`. */
function installPackages(): void {
  const { status } = spawnSync('bash', [join(ROOT, 'infra/setup.sh'), 'suites'], { stdio: 'inherit' })
  if (status !== 0) throw new Error('The Debian packages of these suites could not be installed; see above.')
}

async function runInTurn(suites: readonly Suite[]): Promise<Counts> {
  const all: Counts[] = []
  for (const suite of suites) {
    const before = findTraces()
    const counts = await runSuite(suite)
    all.push(withLeftovers(counts, await findLeftovers(new Set([...before, ...counts.excused]))))
  }
  return addCounts(all)
}

/** Runs the suites of a lane one after another, while others run. Checks for leftovers where others leave nothing. */
async function runLane(suites: readonly Suite[]): Promise<Counts> {
  const all: Counts[] = []
  for (const suite of suites) {
    const directory = mkdtempSync(join(tmpdir(), 'lane-'))
    try {
      const counts = await runSuite({ ...suite, env: { ...suite.env, TMPDIR: directory } })
      const left = readdirSync(directory).filter((name) => name.startsWith('boxyard-'))
      all.push(withLeftovers(counts, left))
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  return addCounts(all)
}

/** Counts of a suite, and the leftovers of a file whose worker was killed, which are no fault of the others. */
interface SuiteCounts extends Counts {
  excused: Traces
}

async function runSuite(suite: Suite): Promise<SuiteCounts> {
  const times = prepareTimes(suite.name)
  const startedAt = performance.now()
  const timed = { ...suite, env: { ...suite.env, TEST_TIMES: times } }
  const counts = await (suite.needsCluster ? runOnCluster : runWithPeers)(timed).catch((error: unknown) =>
    cannotRun(suite, error instanceof Error ? error.message : String(error)),
  )
  const seconds = [...readTimes(times).values()].reduce((sum, each) => sum + each, 0)
  const took = `${inMinutes(performance.now() - startedAt)}, ${Math.round(seconds)} s of processor`
  process.stdout.write(`suite ${suite.name}: ${counts.passed} passed, ${counts.failed} failed (${took})\n`)
  return counts
}

function withLeftovers(counts: Counts, leftovers: readonly string[]): Counts {
  if (leftovers.length === 0) return counts
  process.stdout.write(`The tests left ${leftovers.length} things on this machine:\n`)
  for (const line of leftovers.slice(0, SHOWN_LEFTOVERS)) process.stdout.write(`  ${line}\n`)
  return { ...counts, failed: counts.failed + 1 }
}

function addCounts(all: readonly Counts[]): Counts {
  const sum = (name: 'passed' | 'failed'): number => all.reduce((total, counts) => total + counts[name], 0)
  return { passed: sum('passed'), failed: sum('failed') }
}

/** Prints what runs and ends this process if a suite does not end. A hanging file is ended before that (infra/jest/watch.mjs). */
function limitDuration({ limitMinutes: minutes = SUITE_MINUTES }: Suite): NodeJS.Timeout {
  return setTimeout(() => {
    process.stdout.write(`The suite did not end within ${minutes} minutes. These processes run:\n`)
    spawnSync('ps', ['-e', '--forest', '-o', 'pid,stat,wchan:24,etimes,args'], { stdio: 'inherit' })
    process.exit(1)
  }, minutes * 60_000)
}

async function runOnCluster(suite: Suite): Promise<SuiteCounts> {
  const cluster = findTestCluster((text) => process.stdout.write(`${text}\n`))
  if ('obstacle' in cluster) return cannotRun(suite, cluster.obstacle)
  const end = (): void => void cluster.close().finally(() => process.exit(1))
  for (const signal of ENDING_SIGNALS) process.once(signal, end)
  try {
    return await runTests({ ...suite, env: { ...suite.env, ...(await cluster.start()) } })
  } finally {
    for (const signal of ENDING_SIGNALS) process.removeListener(signal, end)
    await cluster.close()
  }
}

/** Runs a suite with the programs of its peers. A missing peer fails it. */
async function runWithPeers(suite: Suite): Promise<SuiteCounts> {
  const env = { ...suite.env }
  for (const name of suite.peers ?? []) {
    const { find, variable } = PEERS[name]
    const program = await find((text) => process.stdout.write(`${text}\n`))
    if (typeof program !== 'string') return cannotRun(suite, program.obstacle)
    env[variable] = program
  }
  return await runTests({ ...suite, env })
}

function cannotRun({ name }: Suite, obstacle: string): SuiteCounts {
  process.stdout.write(`The suite ${name} cannot run: ${obstacle}\n`)
  return { passed: 0, failed: 1, excused: NONE }
}

/** Runs the test files of a suite with a time limit. Their programs are already built. */
async function runTests(suite: Suite): Promise<SuiteCounts> {
  const limit = limitDuration(suite)
  try {
    return await runTwice(suite)
  } finally {
    clearTimeout(limit)
  }
}

async function runTwice(suite: Suite): Promise<SuiteCounts> {
  const first = await runJest(suite)
  const excused = first.hadKilled ? findTraces() : NONE
  if (!deservesAnotherRun(first)) return { ...first, excused }
  process.stdout.write(`Running again, alone: ${first.failedFiles.join(' ')}\n`)
  const second = await runJest({ ...suite, paths: first.failedFiles, workers: 1 })
  const { unsteady, ...counts } = judgeRuns(first, second, process.env['TEST_ALLOW_UNSTEADY'] === '1')
  for (const file of unsteady) process.stdout.write(`UNSTEADY ${file} failed at first, and passed alone.\n`)
  return { ...counts, excused }
}

function inMinutes(ms: number): string {
  return `${(ms / 60_000).toFixed(1)} min`
}

/** Where tests/helpers/programs.ts finds the programs that tests start. */
const BUNDLES = '.build'
const SUMMARY = join(ROOT, '.build/test-summary')
const NONE: Traces = new Set()
const SHOWN_LEFTOVERS = 40
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const SUITE_MINUTES = 55

await main(process.argv.slice(2))
