import { createListeners } from '../../../shared/listeners.ts'
import type { Logger } from '../../../shared/log.ts'
import type { ExecExit } from '../../ports/boxes/exec-exit.ts'
import type { DetachedExec, RunningExec } from '../../ports/boxes/runtime.ts'
import type {
  CollectedOutput,
  ExecOutputs,
  LiveOutput,
  OutputPiece,
  OutputRange,
  OutputStream,
} from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { Store } from '../../ports/store/store.ts'

export interface LiveExecDeps extends ExecEndDeps {
  logger: Logger
}

/** A command that runs, and whose end this process will record. */
export interface LiveExec {
  readonly id: string
  readonly boxId: string
  /** Returns its current record, or the ended one once that is durable. */
  record(): ExecRecord
  read(range: OutputRange): OutputPiece
  /** Calls `listener` at new output and at the end. Returns a function that removes it. */
  onChange(listener: () => void): () => void
  /** Signals all its processes. Does nothing after its end. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Resolves with the ended record, once that is durable. Rejects if it cannot be written. */
  ended: Promise<ExecRecord>
  /** Frees the output that its record does not need. Call after its end, when that is not read any more. */
  dispose(): Promise<void>
  /** Resolves once its streams are closed. Processes that it left running may keep them open for long. */
  released: Promise<void>
  /** Closes the streams. Processes that still write to them get SIGPIPE. */
  release(): void
  /** Ends it because this process ends. Resolves once its end is durable, or at once for a detached command, which keeps running. */
  shutDown(): Promise<void>
}

/** A command of this process, with copies of the streams that were requested. */
export interface RunningLiveExec extends LiveExec {
  copies: CollectedOutput['copies']
}

interface LiveExecInput {
  record: ExecRecord
  running: RunningExec
  /** Null: the caller writes the input. */
  stdin: Buffer | null
  copied?: readonly OutputStream[]
  timeoutMs: number | null
  deps: LiveExecDeps
}

/** Writes stdin, collects the output and records the end of a command of this process. Its record must be stored already. */
export function followRunning(input: LiveExecInput): RunningLiveExec {
  const { record: first, running, stdin, copied, timeoutMs, deps } = input
  const { clock, logger } = deps
  let record = first
  let isEnded = false
  let timedOut = false
  const changes = createListeners()
  const { boxId, id: execId, project } = first
  const output = deps.outputs.collect({ boxId, execId, project }, running, copied)
  output.onOutput(changes.notify)
  running.stdin.on('error', () => undefined)
  if (stdin !== null) running.stdin.end(stdin)
  void running.process.then((process) => {
    record = { ...record, process }
  })
  const kill = async (): Promise<void> => {
    try {
      await running.signal('SIGKILL')
    } catch (error) {
      logger.error('exec kill failed', { exec: record.id, error })
    }
  }
  if (timeoutMs !== null) {
    const timer = setTimeout(() => {
      timedOut = true
      void kill()
    }, timeoutMs)
    void running.exited.finally(() => clearTimeout(timer))
  }
  const follow = async (): Promise<ExecRecord> => {
    const exit = await running.exited
    const process = await running.process
    const ended = endedRecord({ ...record, process }, { ...exit, timedOut, endedAt: clock.now() })
    record = (await recordEnd(deps, ended, output)).record
    isEnded = true
    changes.notify()
    return record
  }
  const ended = follow()
  return {
    copies: output.copies,
    id: first.id,
    boxId: first.boxId,
    record: () => (isEnded ? record : withTotals(record, output.totals())),
    read: output.read,
    onChange: changes.add,
    signal: running.signal,
    ended,
    dispose: async () => output.close(),
    released: output.released,
    release: output.release,
    shutDown: async () => {
      await kill()
      await ended
    },
  }
}

/** Follows a detached command and records its end. Its record must be stored already. */
export function followDetached({
  record: first,
  detached,
  deps,
}: {
  record: ExecRecord
  detached: DetachedExec
  deps: LiveExecDeps
}): LiveExec {
  const { outputs, clock } = deps
  const key = { boxId: first.boxId, execId: first.id }
  const output = outputs.follow(key)
  const changes = createListeners()
  const unfollow = detached.onOutput(changes.notify)
  let last: RecordedEnd | null = null
  const follow = async (): Promise<ExecRecord> => {
    const end = await detached.ended
    unfollow()
    const ended: ExecRecord =
      end === null ? { ...first, status: 'lost', endedAt: clock.now() } : endedRecord(first, end)
    last = await recordEnd(deps, ended, output)
    changes.notify()
    return last.record
  }
  return {
    id: first.id,
    boxId: first.boxId,
    record: () => last?.record ?? withTotals(first, output.totals()),
    read: output.read,
    onChange: changes.add,
    signal: detached.signal,
    ended: follow(),
    dispose: async () => {
      // If its end could not be written, the note is kept for the next start.
      if (last === null) return
      await detached.forget()
      await outputs.remove(key, last.inRecord)
    },
    released: Promise.resolve(),
    release: () => undefined,
    shutDown: async () => undefined,
  }
}

/** Records a detached command as lost, with its output up to then. */
export async function recordLost(record: ExecRecord, deps: LiveExecDeps): Promise<void> {
  const { outputs, clock } = deps
  const key = { boxId: record.boxId, execId: record.id }
  const ended: ExecRecord = { ...record, status: 'lost', endedAt: clock.now() }
  const { inRecord } = await recordEnd(deps, ended, outputs.follow(key))
  await outputs.remove(key, inRecord)
}

/** Ends a command without a record, and removes its files. Tries again after a failure. Logs the last, and leaves it to the next start. */
export async function discardDetached(
  detached: DetachedExec,
  { outputs, clock, logger }: Pick<LiveExecDeps, 'outputs' | 'clock' | 'logger'>,
): Promise<void> {
  for (let left = DISCARD_TRIES - 1; ; left--) {
    try {
      await detached.signal('SIGKILL')
      await detached.ended
      await detached.forget()
      return await outputs.remove(detached)
    } catch (error) {
      if (left > 0) await clock.sleep(DISCARD_PAUSE_MS)
      else return logger.error('failed to stop a command without a record', { exec: detached.execId, error })
    }
  }
}

/** Returns `record` with the bytes written so far. */
export function withTotals(record: ExecRecord, totals: { stdout: number; stderr: number }): ExecRecord {
  return { ...record, stdoutBytes: totals.stdout, stderrBytes: totals.stderr }
}

export interface ExecEndDeps {
  store: Store
  outputs: ExecOutputs
  clock: Clock
  limits: { execRecordsPerBox: number; execRecordBytesPerBox: number }
}

/** Returns `record` as ended with `exit`. A pure function. */
export function endedRecord(record: ExecRecord, exit: ExecExit & { timedOut: boolean; endedAt: number }): ExecRecord {
  const { exitCode, signal, reason, oomKills, endedAt } = exit
  return {
    ...record,
    ...{ status: statusOf(exit), exitCode, signal, endedAt },
    ...(reason === undefined ? {} : { reason }),
    ...(oomKills === undefined ? {} : { oomKills }),
  }
}

/** The stored record of an ended command, and the streams whose output is in the record instead of files. */
export interface RecordedEnd {
  record: ExecRecord
  inRecord: OutputStream[]
}

/** Settles the output and stores the end. Removes the files of older commands that this evicts. */
export async function recordEnd(deps: ExecEndDeps, ended: ExecRecord, output: LiveOutput): Promise<RecordedEnd> {
  const { store, outputs, limits } = deps
  const settled = await output.settle()
  const { stdout, stderr } = output.totals()
  const record = { ...ended, stdoutBytes: stdout, stderrBytes: stderr }
  const keep = { records: limits.execRecordsPerBox, bytes: limits.execRecordBytesPerBox }
  const evicted = await store.execs.finish({ record, ...settled }, keep)
  await Promise.all(evicted.map((execId) => outputs.remove({ boxId: record.boxId, execId })))
  return { record, inRecord: STREAMS.filter((stream) => settled.output[stream] !== null) }
}

// A command that exited while the timer fired was not killed by it.
function statusOf(exit: ExecExit & { timedOut: boolean }): ExecRecord['status'] {
  if (exit.signal === null) return 'exited'
  if (exit.timedOut) return 'timed_out'
  return exit.outOfMemory ? 'out_of_memory' : 'killed'
}

const STREAMS = ['stdout', 'stderr'] as const
const DISCARD_TRIES = 3
const DISCARD_PAUSE_MS = 500
