import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { ExecExit, RunningExec } from '../ports/runtime.ts'
import type { ExecOutput, ExecRecord, Store } from '../ports/store.ts'
import { drainInto, OutputTail } from './output-tail.ts'

export interface LiveExecDeps {
  store: Store
  clock: Clock
  logger: Logger
  limits: { execOutputBytes: number; execRecordsPerBox: number; execRecordBytesPerBox: number }
}

/** A command as far as it has come. */
export interface ExecState {
  record: ExecRecord
  output: ExecOutput
}

/** A command that runs, and whose end this process will record. */
export interface LiveExec {
  readonly id: string
  /** What became of it, once that is durable; rejects if it cannot be written. */
  ended: Promise<ExecState>
  /** Resolves once nobody holds its streams any more; what it left running may do so for long. */
  released: Promise<void>
  /** Lets go of the streams: whoever still writes to them gets SIGPIPE. */
  release(): void
  state(): ExecState
  killAfter(ms: number): void
  /** Kills the command and resolves when its end is durable. */
  end(): Promise<void>
}

interface LiveExecInput {
  record: ExecRecord
  running: RunningExec
  stdin: Buffer
  deps: LiveExecDeps
}

/** Feeds stdin, collects the output and records the end. The record is stored already. */
export function startExec({ record: first, running, stdin, deps }: LiveExecInput): LiveExec {
  const { clock, limits, logger } = deps
  let record = first
  let isTimedOut = false
  const stdout = new OutputTail(limits.execOutputBytes)
  const stderr = new OutputTail(limits.execOutputBytes)
  const streams = Promise.all([drainInto(running.stdout, stdout), drainInto(running.stderr, stderr)])
  running.stdin.on('error', () => undefined)
  running.stdin.end(stdin)

  const state = (): ExecState => ({
    record: { ...record, stdoutBytes: stdout.totalBytes, stderrBytes: stderr.totalBytes },
    output: { stdout: stdout.bytes(), stderr: stderr.bytes() },
  })
  const kill = async (): Promise<void> => {
    try {
      await running.signal('SIGKILL')
    } catch (error) {
      logger.error('exec kill failed', { exec: record.id, error })
    }
  }
  const follow = async (): Promise<ExecState> => {
    void running.process.then((process) => {
      record = { ...record, process }
    })
    const exit = await running.exited
    await untilQuiet({ streams, clock, totalBytes: () => stdout.totalBytes + stderr.totalBytes })
    const status = statusOf(exit, isTimedOut)
    const { exitCode, signal } = exit
    record = { ...record, process: await running.process, status, exitCode, signal, endedAt: clock.now() }
    const ended = state()
    const keep = { records: limits.execRecordsPerBox, bytes: limits.execRecordBytesPerBox }
    await deps.store.execs.finish(ended.record, ended.output, keep)
    return ended
  }
  const ended = follow().finally(() => {
    for (const tail of [stdout, stderr]) tail.close()
  })
  return {
    id: first.id,
    ended,
    released: streams.then(() => undefined),
    release: () => {
      for (const stream of [running.stdout, running.stderr]) stream.destroy()
    },
    state,
    killAfter: (ms) => {
      const timer = setTimeout(() => {
        isTimedOut = true
        void kill()
      }, ms)
      void running.exited.finally(() => clearTimeout(timer))
    },
    end: async () => {
      await kill()
      await ended
    },
  }
}

// A command that came to its own end while the timer fired has not been killed by it.
function statusOf(exit: ExecExit, isTimedOut: boolean): ExecRecord['status'] {
  if (exit.signal === null) return 'exited'
  if (isTimedOut) return 'timed_out'
  return exit.outOfMemory ? 'out_of_memory' : 'killed'
}

interface Quiet {
  streams: Promise<unknown>
  clock: Clock
  totalBytes(): number
}

/**
 * What a command left running may hold its streams open for ever: after its exit they are read until they end, or bring nothing
 * for a while, or have gone on for too long.
 */
async function untilQuiet({ streams, clock, totalBytes }: Quiet): Promise<void> {
  let isEnded = false
  const end = streams.then(() => {
    isEnded = true
  })
  for (let round = 0; round < QUIET_ROUNDS && !isEnded; round++) {
    const before = totalBytes()
    await Promise.race([end, clock.sleep(QUIET_MS)])
    // A busy event loop runs its timers first: what has arrived by now is read before it is judged.
    if (!isEnded) await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    if (totalBytes() === before) return
  }
}

const QUIET_MS = 100
const QUIET_ROUNDS = 20
