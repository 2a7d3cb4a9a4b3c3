import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findLeftovers, findTraces } from '../tests/helpers/leftovers.ts'
import { dieWithParent, ROOT } from './commands.ts'

/** Two test files at a time keep two cores busy: those with boxes wait more than they compute. */
const SUITES: Record<string, Suite> = {
  unit: { paths: ['tests/architecture/', 'tests/unit/'], workers: 2 },
  real: { paths: ['tests/contract/', 'tests/integration/', 'tests/e2e/'], workers: 2 },
  faults: { paths: ['tests/e2e/faults'], workers: 1, env: { TEST_FAULTS: 'all' } },
}

interface Suite {
  paths: readonly string[]
  workers: number
  env?: Record<string, string>
}

interface Counts {
  passed: number
  failed: number
}

/**
 * `npm test`: all suites but `faults`; `npm test -- SUITE` one of them; `npm test -- ARGUMENT…` what jest makes of it.
 * A test that is skipped, a test file that does not load, a process that does not end and anything left behind count as failed.
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
  rmSync(REPORT, { force: true })
  const before = findTraces()
  const endedBy = await runJest(suite)
  const counts = readReport(endedBy)
  const leftovers = await findLeftovers(before)
  if (leftovers.length === 0) return counts
  process.stdout.write(`The tests left ${leftovers.length} things on this machine:\n`)
  for (const line of leftovers.slice(0, SHOWN_LEFTOVERS)) process.stdout.write(`  ${line}\n`)
  return { ...counts, failed: counts.failed + 1 }
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

function readReport(end: End): Counts {
  let report: JestReport
  try {
    report = JSON.parse(readFileSync(REPORT, 'utf8')) as JestReport
  } catch {
    process.stdout.write('jest ended without a report.\n')
    return { passed: 0, failed: 1 }
  }
  const skipped = report.numPendingTests + report.numTodoTests
  if (skipped > 0) process.stdout.write(`${skipped} tests were skipped; each counts as failed.\n`)
  if (end === 'hung') process.stdout.write('A test left something open; it counts as failed.\n')
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites + skipped + (end === 'hung' ? 1 : 0)
  return { passed: report.numPassedTests, failed }
}

interface JestReport {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
}

/** Settings of a service that runs on this machine are not those of the tests. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('BOXYARD_')))
}

const DEFAULT_SUITES = [SUITES['unit'], SUITES['real']].filter((suite) => suite !== undefined)
const NODE_OPTIONS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
const REPORT = join(ROOT, '.build/jest.json')
const SUMMARY = join(ROOT, '.build/test-summary')
const SHOWN_LEFTOVERS = 40
const HUNG_GRACE_MS = 5_000

await main(process.argv.slice(2))
