import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { dieWithParent, ROOT } from '../commands.ts'

export interface JestRun {
  /** jest's patterns of test files. */
  paths: readonly string[]
  /** Patterns of files that do not run. */
  ignored?: readonly string[]
  workers: number
  env?: Record<string, string>
  /** Marks the lines of a run beside another, with its own report and directory for temporary files. It has priority on the CPUs. */
  lane?: string
}

export interface Counts {
  passed: number
  failed: number
}

export interface JestOutcome extends Counts {
  failedFiles: string[]
  passedInFailedFiles: number
  /** A failure other than a test's. */
  isIncomplete: boolean
  /** A worker was killed, as watch.mjs does for a file that takes too long. */
  hadKilled: boolean
}

/** Runs jest once. Its output goes to stderr. A skipped test and an open handle count as failed. */
export async function runJest(run: JestRun): Promise<JestOutcome> {
  const report = join(ROOT, '.build', run.lane === undefined ? 'jest.json' : `jest-${run.lane}.json`)
  rmSync(report, { force: true })
  return readReport(report, await start(run, report))
}

type End = 'exited' | 'hung'

function start({ paths, ignored = [], workers, env, lane }: JestRun, report: string): Promise<End> {
  const options = [`--outputFile=${report}`, `--maxWorkers=${workers}`]
  const ignoring = ignored.map((pattern) => `--testPathIgnorePatterns=${pattern}`)
  const [program = '', ...command] = dieWithParent([
    // Its one machine waits for one CPU, while the other run has many processes for both.
    ...(lane === undefined ? [] : ['nice', '-n', '-5']),
    process.execPath,
    '--import',
    join(ROOT, 'infra/jest/workers.mjs'),
    join(ROOT, 'node_modules/jest/bin/jest.js'),
    // An option with several values would also take the paths.
    ...['--ci', '--json', ...ignoring, '--passWithNoTests', ...options, ...paths],
  ])
  const child = spawn(program, command, {
    cwd: ROOT,
    // With --json the report would also go to stdout.
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...withoutSettings(process.env), ...env, NODE_OPTIONS: NODE_OPTIONS.join(' ') },
  })
  const show = lane === undefined ? (text: string) => process.stderr.write(text) : createMarker(lane)
  return new Promise((resolve, reject) => {
    let end: End = 'exited'
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      show(chunk)
      // A test that leaves a handle open would keep jest running forever.
      if (!/Jest did not exit/.test(chunk)) return
      end = 'hung'
      setTimeout(() => child.kill('SIGKILL'), HUNG_GRACE_MS).unref()
    })
    child.once('error', reject)
    child.once('close', () => resolve(end))
    // A process that a failed test left behind may keep the pipe open.
    child.once('exit', () => setTimeout(() => resolve(end), EXIT_GRACE_MS).unref())
  })
}

/** Shows whole lines, each after the name of its lane, because lines of the other lane come in between. */
function createMarker(lane: string): (text: string) => void {
  let begun = ''
  return (text) => {
    const lines = (begun + text).split('\n')
    begun = lines.pop() ?? ''
    for (const line of lines) process.stderr.write(`${lane}| ${line}\n`)
  }
}

function readReport(path: string, end: End): JestOutcome {
  let report: JestReport
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as JestReport
  } catch {
    process.stdout.write('jest ended without a report.\n')
    return { passed: 0, failed: 1, failedFiles: [], passedInFailedFiles: 0, isIncomplete: true, hadKilled: false }
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
    hadKilled: failedFiles.some(({ message }) => message.includes(KILLED)),
  }
}

interface JestReport {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
  testResults: { name: string; status: string; message: string; assertionResults: { status: string }[] }[]
}

/** Omits the settings of a service on this machine. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('BOXYARD_')))
}

const NODE_OPTIONS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
/** Jest's message for a worker that was killed. */
const KILLED = 'was terminated by another process: signal=SIGKILL'
const HUNG_GRACE_MS = 5_000
const EXIT_GRACE_MS = 2_000
