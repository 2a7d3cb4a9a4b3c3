import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CandidateRecord, CandidateSlot, ServiceRecord } from '../../ports/store/services.ts'
import { hostOf, lastRun } from '../common/service-instances.ts'
import { withChange } from './records.ts'

/** The record with a version that will not be ready any more, and the last lines that it wrote. */
export function failedCandidate(
  record: ServiceRecord,
  { slot, why }: { slot: CandidateSlot; why: string },
  { outputs, clock }: { outputs: ExecOutputs; clock: Clock },
): ServiceRecord {
  const candidate: CandidateRecord | null = record[slot]
  const run = lastRun(candidate)
  if (candidate === null || run === null) return record
  const place = { boxId: hostOf(record, candidate), execId: run.execId }
  const { totalBytes } = outputs.read(place, { stream: 'stdout', offset: 0, maxBytes: 0 })
  const offset = Math.max(0, totalBytes - OUTPUT_BYTES)
  const { bytes } = outputs.read(place, { stream: 'stdout', offset, maxBytes: OUTPUT_BYTES })
  const failure = { why, output: lastLines(Buffer.from(bytes).toString('utf8')) }
  const what =
    slot === 'preview' ? 'preview_failed' : `${record.next?.what === 'promoted' ? 'promote' : 'rollback'}_failed`
  return withChange({ ...record, [slot]: { ...candidate, failure } }, { what, by: null, at: clock.now() })
}

/** What is told of a version that failed: why, and its last lines to those who may read what it wrote. */
export function failureText({ why, output }: NonNullable<CandidateRecord['failure']>, withOutput: boolean): string {
  return withOutput && output !== '' ? `${why} Its last lines:\n${output}` : why
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-OUTPUT_LINES).join('\n')
}

const OUTPUT_BYTES = 4096
const OUTPUT_LINES = 20
