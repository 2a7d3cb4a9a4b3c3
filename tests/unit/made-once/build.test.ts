import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type BuildStep, runBuild } from '../../../infra/made-once/build.ts'
import { readSessionUsage } from '../../../infra/made-once/session-usage.ts'
import { readStatFields } from '../../../infra/proc-stat.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const LOOK_MS = 10_000
const LEAST_PROCESSOR_MS = 50
const LEAST_BYTES = 2_000_000
/** Waits for `goOn` without any progress. It can open the pipe before an earlier `pause` has closed it. In that case it reads nothing. */
const PAUSE = 'pause() { until read -r _ <next; do :; done; }'

let directory: string
let lines: string[]
let time: ReturnType<typeof createFakeTime>

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-build-'))
  execFileSync('mkfifo', [join(directory, 'next')])
  lines = []
  time = createFakeTime()
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Runs a script as a build that counts as hung after six checks without progress. */
function build(script: string, more: Partial<BuildStep> = {}): Promise<string> {
  const command = ['sh', '-c', `${PAUSE}; ${script}`]
  const step = { what: 'Building it', command, cwd: directory, target: directory, say: lines.push.bind(lines), ...more }
  const pace = { clock: time.clock, lookMs: LOOK_MS, quietMs: 6 * LOOK_MS }
  return runBuild(step, { ...pace, leastProcessorMs: LEAST_PROCESSOR_MS, leastBytes: LEAST_BYTES })
}

/** Runs `times` checks, one after the other, or fewer if the build ends before. */
async function look(times: number, isOver = (): boolean => false): Promise<void> {
  for (let i = 0; i < times && !isOver(); i += 1) {
    await eventually(() => time.sleeps() > 0, 2)
    const before = time.sleeps()
    time.advance(LOOK_MS)
    await eventually(() => time.sleeps() > before || isOver(), 2)
  }
}

/** Runs checks until the build ends. Its start and each line of output count as progress. */
async function lookUntil(ended: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = ended.finally(() => (isOver = true))
  await look(Number.POSITIVE_INFINITY, () => isOver)
  await over
}

async function written(name: string): Promise<string> {
  const path = join(directory, name)
  await eventually(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'), 5)
  // Earlier output is in the pipe, and one turn of the event loop reads it.
  await turn()
  return readFileSync(path, 'utf8').trim()
}

function sessionOf(pid: string): number {
  return Number(readStatFields(pid)[3])
}

function isGone(pid: string): boolean {
  return !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** Ends a `pause` in the script. */
function goOn(): void {
  writeFileSync(join(directory, 'next'), '\n')
}

describe('a build is not ended', () => {
  test('while it prints', async () => {
    const built = build('for i in 1 2 3; do pause; echo $i; echo >printed$i; done')
    for (const i of ['1', '2', '3']) {
      await look(5)
      goOn()
      await written(`printed${i}`)
    }
    expect(await built).toBe('1\n2\n3\n')
  })

  test('while it uses a processor, its children too', async () => {
    const built = build('sh -c "echo \\$\\$ >pid; while [ ! -e finish ]; do :; done"; echo done')
    const session = sessionOf(await written('pid'))
    for (let i = 0; i < 3; i += 1) {
      const { processorMs } = readSessionUsage(session)
      await look(5)
      await eventually(() => readSessionUsage(session).processorMs > processorMs + LEAST_PROCESSOR_MS, 5)
    }
    writeFileSync(join(directory, 'finish'), '')
    expect(await built).toBe('done\n')
  })

  test('while it reads and writes', async () => {
    const built = build(`for i in 1 2 3; do pause; head -c ${LEAST_BYTES} /dev/zero >f; echo >read$i; done`)
    for (const i of ['1', '2', '3']) {
      await look(5)
      goOn()
      await written(`read${i}`)
    }
    expect(await built).toBe('')
  })
})

describe('a build that hangs', () => {
  test('is ended with all of its processes', async () => {
    const built = build('echo downloading >&2; sleep 1000 & echo "$$ $!" >pids; wait', {
      network: 'the module server',
      keeps: 'modules',
    })
    // A shell can print that its child was terminated before it exits.
    const failed = expect(built).rejects.toThrow(
      /^Building it made no progress for 60 s and was ended\.\n {2}downloading\n(?: {2}Terminated\n)?Run this again: it resumes with the modules so far\.\nIt needs the module server, .*\nThe disk of \S+ has [\d.]+ GB free\.$/,
    )
    const pids = (await written('pids')).split(' ')
    await lookUntil(failed)
    await eventually(() => pids.length === 2 && pids.every(isGone))
    expect(lines.at(-1)).toMatch(/^Building it: 60 s so far, 0 s of processor time, no progress for \d0 s of 60 s$/)
  })

  test('is killed if it ignores that', async () => {
    const built = build('trap "" TERM; echo $$ >pid; while :; do sleep 1000; done')
    const failed = expect(built).rejects.toThrow(/was ended/)
    const pid = await written('pid')
    await lookUntil(failed)
    await eventually(() => isGone(pid))
  })
})

test('a person who waits gets a line every half minute', async () => {
  const built = build('echo a/b; echo other:; echo c/d; echo >printed; pause', {
    counted: { line: /^\w+\/\w+$/, unit: 'packages', total: 5 },
  })
  await written('printed')
  await look(5)
  goOn()
  await built
  expect(lines).toEqual(['Building it: 30 s so far, 2 of 5 packages, 0 s of processor time'])
})

test.each([
  [
    'fails',
    'echo broken; exit 3',
    /^Building it failed \(exit code 3\)\.\n {2}broken\nRun this again: it begins at zero\.\nThe disk/,
  ],
  ['is killed', 'kill -KILL $PPID', /^Building it failed \(SIGKILL\)\./],
  ['is not there', 'exec ./missing', /^Building it failed \(exit code 127\)\.\n {2}sh: .*missing: not found\n/],
])('the error of a build that %s says what to do', async (_, script, message) => {
  await expect(build(script)).rejects.toThrow(message)
})

test('of much output the last lines are in the error', async () => {
  const error: unknown = await build('seq 1000; exit 1').catch((reason: unknown) => reason)
  expect(String(error).match(/^ {2}\d+$/gm)).toEqual(Array.from({ length: 20 }, (_, i) => `  ${981 + i}`))
})
