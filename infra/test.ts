import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findLeftovers, findTraces, type Traces } from '../tests/helpers/leftovers.ts'
import { drawsAll } from '../tests/helpers/sample.ts'
import { findTestCluster } from './cluster/test-cluster.ts'
import { ROOT } from './commands.ts'
import { type Counts, runJest } from './jest/run.ts'
import { PEERS, type Suite, suitesOf } from './jest/suites.ts'
import { bundleServices } from './release/bundle.ts'
import { ensureConsole } from './web/build.ts'

/**
 * `npm test` runs the suites (infra/jest/suites.ts) `unit` and `real`, beside them `machine`, and then `cluster` and `fleet`, with a draw of the tests that repeat each other; `npm test -- all` (`npm run test:all`)
 * runs those and `everywhere`, with nothing left out; `npm test -- SUITE…` runs some suites; `npm test -- cluster PATH…` runs paths with
 * pods for boxes; other arguments are jest's.
 * Without Go and KUBECONFIG `cluster` and `fleet` do not run, and tests whose peer cannot be built or installed do not; in CI that counts as failed.
 * A test that is skipped, a test file that does not load, a process that does not end and anything left behind count as failed, but for
 * what is there when a run of files ends of which one was killed: that one is run again.
 * Files that fail run once more, alone, unless they are many; those that then pass are named as `UNSTEADY`, to be mended.
 */
async function main(args: readonly string[]): Promise<void> {
  const suites = suitesOf(args)
  rmSync(SUMMARY, { force: true })
  ensureConsole()
  bundleServices(ROOT, { agent: `${BUNDLES}/agent`, front: `${BUNDLES}/functions` })
  process.env['TEST_BUNDLES'] = BUNDLES
  const beside = suites.filter(({ lane }) => lane).map((suite) => runBeside(suite))
  const inTurn = suites.filter(({ lane }) => lane === undefined)
  const first = await Promise.all([runInTurn(inTurn.filter(({ needsCluster }) => needsCluster !== true)), ...beside])
  // Kubernetes gives up on what a machine that has other work does too late.
  const last = await runInTurn(inTurn.filter(({ needsCluster }) => needsCluster === true))
  const total = addCounts([...first, last])
  if (total.passed + total.failed === 0) {
    process.stdout.write('No test ran.\n')
    total.failed = 1
  }
  writeFileSync(SUMMARY, `${total.passed} ${total.failed}\n`)
  process.stdout.write(`tests: ${total.passed} passed, ${total.failed} failed\n`)
  process.exitCode = total.failed === 0 ? 0 : 1
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

/** Runs a suite in a lane of its own, while others run. What it leaves is looked for where others leave nothing. */
async function runBeside(suite: Suite): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), 'lane-'))
  try {
    const counts = await runSuite({ ...suite, env: { ...suite.env, TMPDIR: directory } })
    return withLeftovers(
      counts,
      readdirSync(directory).filter((name) => name.startsWith('boxyard-')),
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Counts of a suite, with what a file whose worker was killed has left, which is no fault of the others. */
interface SuiteCounts extends Counts {
  excused: Traces
}

async function runSuite(suite: Suite): Promise<SuiteCounts> {
  mkdirSync(join(ROOT, '.build'), { recursive: true })
  const limit = limitDuration(suite)
  const counts = await (suite.needsCluster ? runOnCluster : runWithPeers)(suite)
  clearTimeout(limit)
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

/** Ends this process if a suite does not end, after printing what runs; a file that hangs is ended before that (infra/jest/watch.mjs). */
function limitDuration({ minutes: most = SUITE_MINUTES }: Suite): NodeJS.Timeout {
  const minutes = most * (drawsAll() ? 4 : 1)
  return setTimeout(() => {
    process.stdout.write(`The suite did not end within ${minutes} minutes. These processes run:\n`)
    spawnSync('ps', ['-e', '--forest', '-o', 'pid,stat,wchan:24,etimes,args'], { stdio: 'inherit' })
    process.exit(1)
  }, minutes * 60_000)
}

async function runOnCluster(suite: Suite): Promise<SuiteCounts> {
  const cluster = findTestCluster((text) => process.stdout.write(`${text}\n`))
  if ('obstacle' in cluster) {
    process.stdout.write(`The suite cluster does not run: ${cluster.obstacle}.\n`)
    return { passed: 0, failed: process.env['CI'] ? 1 : 0, excused: NONE }
  }
  const end = (): void => void cluster.close().finally(() => process.exit(1))
  for (const signal of ENDING_SIGNALS) process.once(signal, end)
  try {
    return await runTests({ ...suite, env: { ...suite.env, ...(await cluster.start()) } })
  } finally {
    for (const signal of ENDING_SIGNALS) process.removeListener(signal, end)
    await cluster.close()
  }
}

/** Runs a suite without the tests of a peer that cannot be had; in CI that counts as failed. */
async function runWithPeers(suite: Suite): Promise<SuiteCounts> {
  const paths = [...suite.paths]
  const env = { ...suite.env }
  let missing = 0
  for (const name of suite.peers ?? []) {
    const peer = PEERS[name]
    const program = await peer.find((text) => process.stdout.write(`${text}\n`))
    if (typeof program === 'string') {
      paths.push(peer.path)
      env[peer.variable] = program
      continue
    }
    process.stdout.write(`The tests in ${peer.path} do not run: ${program.obstacle}.\n`)
    missing += 1
  }
  const nothing = { passed: 0, failed: 0, excused: NONE }
  const counts = paths.length === 0 ? nothing : await runTests({ ...suite, paths, env })
  return { ...counts, failed: counts.failed + (process.env['CI'] ? missing : 0) }
}

async function runTests(suite: Suite): Promise<SuiteCounts> {
  const first = await runJest(suite)
  const excused = first.hadKilled ? findTraces() : NONE
  const files = first.failedFiles
  if (files.length === 0 || files.length > RERUN_MAX || first.isIncomplete) return { ...first, excused }
  process.stdout.write(`Running again, alone: ${files.join(' ')}\n`)
  const second = await runJest({ ...suite, paths: files, workers: 1 })
  const unsteady = files.filter((file) => !second.failedFiles.includes(file))
  for (const file of unsteady) process.stdout.write(`UNSTEADY ${file} failed at first, and passed alone.\n`)
  return { passed: first.passed - first.passedInFailedFiles + second.passed, failed: second.failed, excused }
}

/** Where tests/helpers/programs.ts finds what tests start. */
const BUNDLES = '.build'
const SUMMARY = join(ROOT, '.build/test-summary')
const NONE: Traces = new Set()
const SHOWN_LEFTOVERS = 40
// A busy machine fails a file now and then; a broken change fails it twice, or many files.
const RERUN_MAX = 6
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const SUITE_MINUTES = 55

await main(process.argv.slice(2))
