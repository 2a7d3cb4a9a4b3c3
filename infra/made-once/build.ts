import { type ChildProcess, spawn } from 'node:child_process'
import { statfsSync } from 'node:fs'
import type { Clock } from '../../agent/ports/host/clock.ts'
import { dieWithParent } from '../commands.ts'
import { createLineSplitter } from '../log-lines.ts'
import { describeDuration, hostClock, SAY_MS } from './pace.ts'
import { readSessionUsage, type SessionUsage } from './session-usage.ts'

/** A command that takes minutes, such as a compiler, an installer or a download. */
export interface BuildStep {
  /** Prefix of every line about it, such as `Building runc`. */
  what: string
  command: readonly string[]
  cwd?: string
  /** The whole environment. Default: the environment of this process. */
  env?: NodeJS.ProcessEnv
  /** Directory that it fills, to name its free space in an error. */
  target: string
  /** Server that it needs, with an article: `the Go module proxy`. */
  network?: string
  /** Names the results that a failed run leaves for the next one, such as `compiled packages`. Without it the next run starts from zero. */
  keeps?: string
  /** Lines of its output that show progress, and the unit that each counts, such as `packages`. */
  counted?: { line: RegExp; unit: string; total?: number }
  /** Shows a line to the waiting user. */
  say(text: string): void
}

/** When to sample a build, and when it counts as hung. */
export interface BuildPace {
  clock: Clock
  lookMs: number
  /** Time without progress after which it counts as hung. */
  quietMs: number
  /** Less than these amounts counts as idle, such as retries, timers, or a progress bar. */
  leastProcessorMs: number
  leastBytes: number
}

/**
 * Runs a command for as long as it makes progress, and returns its stdout. Progress is a line of output, CPU time or bytes read and
 * written. A compiler prints nothing for minutes, and a hanging download uses no CPU. Reports the progress twice a minute. The command ends
 * with this process, even if that is killed.
 * @throws Error with a remedy and the last lines of output if it fails or makes no progress for ten minutes
 */
export async function runBuild(step: BuildStep, pace: BuildPace = PACE): Promise<string> {
  const [program = '', ...args] = dieWithParent(['sh', '-c', END_TOGETHER, 'sh', ...step.command])
  const child = spawn(program, args, {
    cwd: step.cwd,
    env: step.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Uses its own session, so that all its processes are found and ended together.
    detached: true,
  })
  const output = readOutput(child, step)
  const over = new AbortController()
  let why: string | null = null
  const end = (reason: string): void => {
    why ??= reason
    void endSession(child, pace.clock, over.signal)
  }
  const leaveSignals = endOnSignal((signal) => end(`was interrupted (${signal})`))
  const ended = waitForEnd(child).finally(() => over.abort())
  const isHung = await watch(step, { session: child.pid ?? 0, output, pace, over: over.signal })
  if (isHung) end(`made no progress for ${describeDuration(pace.quietMs)} and was ended`)
  const how = await ended
  leaveSignals()
  if (how === 'exit code 0') return output.text
  throw new Error(describeFailure(step, why ?? `failed (${how})`, output.last))
}

interface Output {
  /** Standard output. */
  text: string
  /** The last lines of both streams. */
  last: string[]
  lines: number
  counted: number
}

function readOutput(child: ChildProcess, { counted }: BuildStep): Output {
  const output: Output = { text: '', last: [], lines: 0, counted: 0 }
  const take = (line: string): void => {
    output.lines += 1
    if (counted?.line.test(line)) output.counted += 1
    if (line.trim() === '') return
    output.last.push(line)
    if (output.last.length > LAST_LINES) output.last.shift()
  }
  for (const stream of [child.stdout, child.stderr]) {
    const splitter = createLineSplitter()
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => {
      if (stream === child.stdout) output.text += text
      splitter.push(text).forEach(take)
    })
    stream?.on('end', () => (splitter.rest() === '' ? undefined : take(splitter.rest())))
    stream?.on('error', () => undefined)
  }
  return output
}

interface Watched {
  session: number
  output: Output
  pace: BuildPace
  /** Aborts when the command has ended. */
  over: AbortSignal
}

/** Resolves with false once the command has ended, or with true when it counts as hung. */
async function watch(step: BuildStep, { session, output, pace, over }: Watched): Promise<boolean> {
  const { clock, lookMs } = pace
  const startedAt = clock.now()
  let saidAt = startedAt
  let mark = { ...readSessionUsage(session), lines: 0 }
  // Counts samples, because no time passes for the command while this process itself is starved or suspended.
  let quietMs = 0
  for (;;) {
    await clock.sleep(lookMs, over)
    if (over.aborted) return false
    const now = { ...readSessionUsage(session), lines: output.lines }
    const isQuiet = now.lines === mark.lines && !hasWorked(mark, now, pace)
    if (!isQuiet) mark = now
    quietMs = isQuiet ? quietMs + lookMs : 0
    if (quietMs >= pace.quietMs) return true
    if (clock.now() - saidAt < SAY_MS) continue
    saidAt = clock.now()
    const parts = [`${step.what}: ${describeDuration(saidAt - startedAt)} so far`, describeCount(step, output)]
    parts.push(`${Math.round(now.processorMs / 1000)} s of processor time`)
    if (quietMs >= SAY_MS)
      parts.push(`no progress for ${describeDuration(quietMs)} of ${describeDuration(pace.quietMs)}`)
    step.say(parts.filter((part) => part !== '').join(', '))
  }
}

/** Returns whether the difference is work. Totals shrink when a process ends that its parent does not wait for. */
function hasWorked(before: SessionUsage, now: SessionUsage, pace: BuildPace): boolean {
  const processorMs = now.processorMs - before.processorMs
  const bytes = now.bytes - before.bytes
  return processorMs < 0 || processorMs >= pace.leastProcessorMs || bytes < 0 || bytes >= pace.leastBytes
}

function describeCount({ counted }: BuildStep, output: Output): string {
  if (counted === undefined || output.counted === 0) return ''
  const of = counted.total === undefined ? '' : ` of ${counted.total}`
  return `${output.counted}${of} ${counted.unit}`
}

function describeFailure({ what, target, network, keeps }: BuildStep, why: string, last: readonly string[]): string {
  const free = statfsSync(target)
  const freeGb = ((free.bavail * free.bsize) / 1e9).toFixed(1)
  return [
    `${what} ${why}.`,
    ...last.map((line) => `  ${line}`),
    `Run this again: ${keeps === undefined ? 'it begins at zero' : `it resumes with the ${keeps} so far`}.`,
    ...(network === undefined ? [] : [`It needs ${network}, and the settings of a proxy where there is one.`]),
    `The disk of ${target} has ${freeGb} GB free.`,
  ].join('\n')
}

function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
}

/**
 * Calls `end` on a signal to this process, and ends this process if nothing else listens. A terminal sends no signal to another session.
 */
function endOnSignal(end: (signal: string) => void): () => void {
  const take = (signal: NodeJS.Signals): void => {
    end(signal)
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
  for (const signal of ENDING_SIGNALS) process.once(signal, take)
  return () => {
    for (const signal of ENDING_SIGNALS) process.removeListener(signal, take)
  }
}

async function endSession(child: ChildProcess, clock: Clock, over: AbortSignal): Promise<void> {
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), signal)
    } catch {
      // It has ended.
    }
  }
  kill('SIGTERM')
  await clock.sleep(GRACE_MS, over)
  if (!over.aborted) kill('SIGKILL')
}

/** Runs the arguments, and ends all processes of its group when it is stopped. When its parent ends, only the shell gets a signal. */
const END_TOGETHER = 'trap "trap - TERM; kill -TERM 0" TERM; "$@" & wait "$!"'
const PACE: BuildPace = {
  clock: hostClock,
  lookMs: 10_000,
  quietMs: 10 * 60_000,
  // A hundredth of a CPU over the ten minutes. A compiler gets more on any machine, an idle JVM less.
  leastProcessorMs: 6_000,
  leastBytes: 64 * 1024,
}
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const LAST_LINES = 20
const GRACE_MS = 5_000
