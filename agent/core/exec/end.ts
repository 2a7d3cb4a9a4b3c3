import type { ExecExit } from '../../ports/boxes/runtime.ts'
import type { ExecOutputs, LiveOutput, OutputStream } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { Store } from '../../ports/store/store.ts'

export interface ExecEndDeps {
  store: Store
  outputs: ExecOutputs
  clock: Clock
  limits: { execRecordsPerBox: number; execRecordBytesPerBox: number }
}

/** `record`, of a command that ended as `exit` says. A pure function. */
export function endedRecord(record: ExecRecord, exit: ExecExit & { timedOut: boolean; endedAt: number }): ExecRecord {
  const { exitCode, signal, endedAt } = exit
  return { ...record, status: statusOf(exit), exitCode, signal, endedAt }
}

/** A command as its end is stored, and the streams whose output the record itself holds. */
export interface RecordedEnd {
  record: ExecRecord
  inRecord: OutputStream[]
}

/** Settles the output and writes the end; what is kept no more because of it loses its files. */
export async function recordEnd(deps: ExecEndDeps, ended: ExecRecord, output: LiveOutput): Promise<RecordedEnd> {
  const { store, outputs, limits } = deps
  const settled = await output.settle()
  const { stdout, stderr } = output.totals()
  const record = { ...ended, stdoutBytes: stdout, stderrBytes: stderr }
  const keep = { records: limits.execRecordsPerBox, bytes: limits.execRecordBytesPerBox }
  const gone = await store.execs.finish({ record, ...settled }, keep)
  await Promise.all(gone.map((execId) => outputs.remove({ boxId: record.boxId, execId })))
  return { record, inRecord: STREAMS.filter((stream) => settled.output[stream] !== null) }
}

// A command that came to its own end while the timer fired has not been killed by it.
function statusOf(exit: ExecExit & { timedOut: boolean }): ExecRecord['status'] {
  if (exit.signal === null) return 'exited'
  if (exit.timedOut) return 'timed_out'
  return exit.outOfMemory ? 'out_of_memory' : 'killed'
}

const STREAMS = ['stdout', 'stderr'] as const
