import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { findLeftovers, findTraces } from '../tests/helpers/leftovers.ts'
import { findAcmeServer } from './acme-server/program.ts'
import { findTestCluster } from './cluster/test-cluster.ts'
import { dieWithParent, ROOT } from './commands.ts'
import { findObjectStore } from './object-store/program.ts'

/** What holds of boxes wherever they run: that much of it runs on both each time, and the rest when asked for. */
const EVERYWHERE = [
  'standalone',
  'deployment',
  'model',
  'services/services',
  'services/deploys',
  'edge/urls',
  'health/metrics',
  'boxes/idle',
  'boxes/faults',
].map((name) => `tests/e2e/${name}`)
const REST = [
  'access/admission',
  'health/failures',
  'pool/full-disk',
  'exec/shim',
  'http/large-bodies',
  'boxes/lost-data',
].map((name) => `tests/e2e/${name}`)

/** Two test files at a time keep two cores busy: those with boxes wait more than they compute. */
const SUITES: Record<string, Suite> = {
  unit: { paths: ['tests/architecture/', 'tests/unit/'], workers: 2 },
  real: { paths: ['tests/contract/', 'tests/integration/', 'tests/e2e/'], workers: 2 },
  // What every runtime must do is shown of both: the same files run here once more, with pods for boxes.
  cluster: {
    paths: ['tests/cluster/', 'tests/contract/boxes/runtime', ...EVERYWHERE],
    workers: 3,
    env: { TEST_RUNTIME: 'kubernetes' },
    needsCluster: true,
  },
  // Backups to a real server that speaks S3.
  s3: { paths: ['tests/object-store/'], workers: 1, needs: 'object-store' },
  // Certificates of a real ACME server.
  acme: { paths: ['tests/acme/'], workers: 1, needs: 'acme-server' },
  everywhere: { paths: REST, workers: 2, env: { TEST_RUNTIME: 'kubernetes' }, needsCluster: true },
  faults: { paths: ['tests/e2e/.*faults'], workers: 1, env: { TEST_FAULTS: 'all' } },
}

interface Suite {
  paths: readonly string[]
  workers: number
  env?: Record<string, string>
  /** It runs on a real Kubernetes. */
  needsCluster?: boolean
  /** It needs a peer that is built with Go. */
  needs?: keyof typeof PEERS
}

interface Counts {
  passed: number
  failed: number
}

interface Outcome extends Counts {
  failedFiles: string[]
  passedInFailedFiles: number
  /** Something else was wrong than that a test failed. */
  isIncomplete: boolean
}

/**
 * `npm test`: all suites but `faults` and `everywhere`; `npm test -- SUITE` one of them; `npm test -- ARGUMENT…` what jest makes of it.
 * Without Go and KUBECONFIG the suite `cluster` does not run, and without Go `s3` and `acme`; in CI that counts as failed.
 * A test that is skipped, a test file that does not load, a process that does not end and anything left behind count as failed.
 * Files that fail run once more, alone, unless they are many: what then passes is told of by name, as what needs to be mended.
 */
async function main(args: readonly string[]): Promise<void> {
  const named = args.length === 1 ? SUITES[args[0] ?? ''] : undefined
  const suites = named ? [named] : args.length > 0 ? [{ paths: args, workers: 1 }] : DEFAULT_SUITES
  const total: Counts = { passed: 0, failed: 0 }
  rmSync(SUMMARY, { force: true })
  for (const suite of suites) {
    const counts = await runSuite(suite)
    total.passed += counts.passed
    total.failed += counts.failed
  }
  if (total.passed + total.failed === 0) {
    process.stdout.write('No test ran.\n')
    total.failed = 1
  }
  writeFileSync(SUMMARY, `${total.passed} ${total.failed}\n`)
  process.stdout.write(`tests: ${total.passed} passed, ${total.failed} failed\n`)
  process.exitCode = total.failed === 0 ? 0 : 1
}

async function runSuite(suite: Suite): Promise<Counts> {
  mkdirSync(join(ROOT, '.build'), { recursive: true })
  const before = findTraces()
  const run = suite.needsCluster ? runOnCluster : suite.needs ? runWithPeer : runTests
  const counts = await run(suite)
  const leftovers = await findLeftovers(before)
  if (leftovers.length === 0) return counts
  process.stdout.write(`The tests left ${leftovers.length} things on this machine:\n`)
  for (const line of leftovers.slice(0, SHOWN_LEFTOVERS)) process.stdout.write(`  ${line}\n`)
  return { ...counts, failed: counts.failed + 1 }
}

async function runOnCluster(suite: Suite): Promise<Counts> {
  const cluster = findTestCluster((text) => process.stdout.write(`${text}\n`))
  if ('obstacle' in cluster) {
    process.stdout.write(`The suite cluster does not run: ${cluster.obstacle}.\n`)
    return { passed: 0, failed: process.env['CI'] ? 1 : 0 }
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

async function runWithPeer(suite: Suite): Promise<Counts> {
  const peer = PEERS[suite.needs ?? 'object-store']
  const program = await peer.find((text) => process.stdout.write(`${text}\n`))
  if (typeof program === 'string') return runTests({ ...suite, env: { [peer.variable]: program } })
  process.stdout.write(`The suite in ${suite.paths[0]} does not run: ${program.obstacle}.\n`)
  return { passed: 0, failed: process.env['CI'] ? 1 : 0 }
}

async function runTests(suite: Suite): Promise<Counts> {
  const first = await runOnce(suite)
  const files = first.failedFiles
  if (files.length === 0 || files.length > RERUN_MAX || first.isIncomplete) return first
  process.stdout.write(`Running again, alone: ${files.join(' ')}\n`)
  const second = await runOnce({ ...suite, paths: files, workers: 1 })
  const unsteady = files.filter((file) => !second.failedFiles.includes(file))
  for (const file of unsteady) process.stdout.write(`UNSTEADY ${file} failed at first, and passed alone.\n`)
  return { passed: first.passed - first.passedInFailedFiles + second.passed, failed: second.failed }
}

function runOnce(suite: Suite): Promise<Outcome> {
  rmSync(REPORT, { force: true })
  return runJest(suite).then(readReport)
}

type End = 'exited' | 'hung'

function runJest({ paths, workers, env }: Suite): Promise<End> {
  const args = ['--ci', '--json', `--outputFile=${REPORT}`, '--passWithNoTests', `--maxWorkers=${workers}`, ...paths]
  const [program = '', ...command] = dieWithParent([
    process.execPath,
    join(ROOT, 'node_modules/jest/bin/jest.js'),
    ...args,
  ])
  const child = spawn(program, command, {
    cwd: ROOT,
    // With --json the report also goes to stdout, where nobody wants it.
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...withoutSettings(process.env), ...env, NODE_OPTIONS: NODE_OPTIONS.join(' ') },
  })
  return new Promise((resolve, reject) => {
    let end: End = 'exited'
    child.stderr.on('data', (chunk: Buffer) => {
      process.stderr.write(chunk)
      // A test that leaves a handle open would keep jest from ending for ever.
      if (!/Jest did not exit/.test(chunk.toString())) return
      end = 'hung'
      setTimeout(() => child.kill('SIGKILL'), HUNG_GRACE_MS).unref()
    })
    child.once('error', reject)
    child.once('close', () => resolve(end))
  })
}

function readReport(end: End): Outcome {
  let report: JestReport
  try {
    report = JSON.parse(readFileSync(REPORT, 'utf8')) as JestReport
  } catch {
    process.stdout.write('jest ended without a report.\n')
    return { passed: 0, failed: 1, failedFiles: [], passedInFailedFiles: 0, isIncomplete: true }
  }
  const skipped = report.numPendingTests + report.numTodoTests
  if (skipped > 0) process.stdout.write(`${skipped} tests were skipped; each counts as failed.\n`)
  if (end === 'hung') process.stdout.write('A test left something open; it counts as failed.\n')
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites + skipped + (end === 'hung' ? 1 : 0)
  const failedFiles = report.testResults.filter(({ status }) => status === 'failed')
  const ended = failedFiles.flatMap(({ assertionResults }) => assertionResults)
  return {
    passed: report.numPassedTests,
    failed,
    failedFiles: failedFiles.map(({ name }) => relative(ROOT, name)),
    passedInFailedFiles: ended.filter(({ status }) => status === 'passed').length,
    isIncomplete: skipped > 0 || end === 'hung',
  }
}

interface JestReport {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[]
}

/** Settings of a service that runs on this machine are not those of the tests. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('BOXYARD_')))
}

const DEFAULT_SUITES = [SUITES['unit'], SUITES['real'], SUITES['s3'], SUITES['acme'], SUITES['cluster']].filter(
  (suite) => suite !== undefined,
)
const PEERS = {
  'object-store': { find: findObjectStore, variable: 'BOXYARD_TEST_OBJECT_STORE' },
  'acme-server': { find: findAcmeServer, variable: 'BOXYARD_TEST_ACME_SERVER' },
}
const NODE_OPTIONS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
const REPORT = join(ROOT, '.build/jest.json')
const SUMMARY = join(ROOT, '.build/test-summary')
const SHOWN_LEFTOVERS = 40
// Two processors that run a cluster stumble now and then; a change that breaks something breaks it twice, or in many places.
const RERUN_MAX = 3
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const HUNG_GRACE_MS = 5_000

await main(process.argv.slice(2))
