import { createListeners } from '../../../shared/listeners.ts'
import type { Logger } from '../../../shared/log.ts'
import type { RunningExec } from '../../ports/boxes/runtime.ts'
import type { CollectedOutput, OutputPiece, OutputRange, OutputStream } from '../../ports/exec/outputs.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import { type ExecEndDeps, endedRecord, recordEnd } from './end.ts'

export interface LiveExecDeps extends ExecEndDeps {
  logger: Logger
}

/** A command whose end this process will record. */
export interface LiveExec {
  readonly id: string
  readonly boxId: string
  /** As far as it has come; as it ended once that is durable. */
  record(): ExecRecord
  read(range: OutputRange): OutputPiece
  /** Calls `listener` at new output and at the end; returns what stops it. */
  onChange(listener: () => void): () => void
  /** Signals all it started; after its end that is a success. */
  signal(name: NodeJS.Signals): Promise<void>
  /** What became of it, once that is durable; rejects if it cannot be written. */
  ended: Promise<ExecRecord>
  /** For once it has ended, and nobody reads from it: lets go of what its record does not need. */
  dispose(): Promise<void>
  /** Resolves once nobody holds its streams any more; what it left running may do so for long. */
  released: Promise<void>
  /** Lets go of the streams: whoever still writes to them gets SIGPIPE. */
  release(): void
  /** For when this process ends: resolves when it is ended and its end durable, or at once if it belongs to another. */
  leave(): Promise<void>
}

/** A command of this process, with copies of those of its streams that were wished for. */
export interface RunningLiveExec extends LiveExec {
  copies: CollectedOutput['copies']
}

interface LiveExecInput {
  record: ExecRecord
  running: RunningExec
  /** Null: somebody else writes it. */
  stdin: Buffer | null
  copied?: readonly OutputStream[]
  timeoutMs: number | null
  deps: LiveExecDeps
}

/** Feeds stdin, collects the output and records the end of a command of this process. Its record is stored already. */
export function followRunning(input: LiveExecInput): RunningLiveExec {
  const { record: first, running, stdin, copied, timeoutMs, deps } = input
  const { clock, logger } = deps
  let record = first
  let isEnded = false
  let timedOut = false
  const changes = createListeners()
  const output = deps.outputs.collect({ boxId: first.boxId, execId: first.id }, running, copied)
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
    leave: async () => {
      await kill()
      await ended
    },
  }
}

/** `record` with the bytes written so far. */
export function withTotals(record: ExecRecord, totals: { stdout: number; stderr: number }): ExecRecord {
  return { ...record, stdoutBytes: totals.stdout, stderrBytes: totals.stderr }
}
