import type { CandidateRecord, InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import { withChange } from './records.ts'
import { logEnd } from './runs.ts'

/** Who changes which version gets the traffic, when, and how much of their logs the versions have written. */
export interface SwitchHow {
  by: string | null
  at: number
  /** Bytes that the run of a version has written which goes on. */
  bytesOf(instance: InstanceRecord): number
}

/** The record with a preview, in the place of the one that it had. A pure function, as all here. */
export function withPreview(record: ServiceRecord, preview: CandidateRecord): ServiceRecord {
  return { ...withoutPreview(record), preview }
}

/** The record whose preview, if there is one, is ended, and what was to come of it. */
export function withoutPreview(record: ServiceRecord): ServiceRecord {
  if (record.preview === null) return record
  const { retired, ...rest } = record.next?.what === 'promoted' ? withoutNext(record) : record
  return { ...rest, preview: null, retired: [...retired, retire(record.preview, false)] }
}

/** The record with a version on its way to be active, in the place of another. */
export function withNext(record: ServiceRecord, next: NonNullable<ServiceRecord['next']>): ServiceRecord {
  return { ...withoutNext(record), next }
}

/** The record that no longer has a version on its way to be active. */
export function withoutNext(record: ServiceRecord): ServiceRecord {
  if (record.next === null) return record
  return { ...record, next: null, retired: [...record.retired, retire(record.next, false)] }
}

/** The record with its preview as the active version; what was active is kept for a rollback. */
export function promoted(record: ServiceRecord, preview: CandidateRecord, how: SwitchHow): ServiceRecord {
  const { previous } = record
  const retired = previous === null ? record.retired : [...record.retired, retire(previous, true)]
  const begun = { ...withoutNext({ ...record, preview: null, retired }), desired: 'running' as const }
  // Whoever follows the log reads on with the first that the new version wrote.
  return takenOver(begun, moved(preview, endOfLog(record, how)), { ...how, what: 'promoted' })
}

/** The record with the version that was active before as the active one again, and the other way round. */
export function rolledBack(record: ServiceRecord, previous: InstanceRecord, how: SwitchHow): ServiceRecord {
  const behind = endOfLog(record, how) - logEnd(previous, how.bytesOf(previous))
  const incoming = moved(previous, Math.max(0, behind))
  return takenOver(withoutNext({ ...record, previous: null }), incoming, { ...how, what: 'rolled_back' })
}

/** The record after the version that it waited for has become ready. */
export function switchedToNext(
  record: ServiceRecord,
  next: NonNullable<ServiceRecord['next']>,
  how: SwitchHow,
): ServiceRecord {
  const { previous } = record
  const retired = previous === null ? record.retired : [...record.retired, retire(previous, true)]
  const incoming = moved(next, endOfLog(record, how))
  const before = { ...record, next: null, retired }
  // What was shown to be good in a copy of the box has become good in the box itself.
  const over = next.what === 'promoted' ? withoutPreview(before) : before
  return takenOver(over, incoming, { ...how, by: next.by, what: next.what })
}

function takenOver(
  record: ServiceRecord,
  incoming: InstanceRecord,
  { what, by, at }: SwitchHow & { what: string },
): ServiceRecord {
  const { spec } = incoming
  const { active, asked, generation } = record
  const taken = {
    ...record,
    ...{ spec, generation: generation + 1 },
    active: { ...bare(incoming), asked },
    previous: active === null ? null : { ...bare(active), since: at },
  }
  return withChange(taken, { what, by, at })
}

function retire(instance: InstanceRecord, drains: boolean): ServiceRecord['retired'][number] {
  return { ...bare(instance), drains }
}

function bare({ spec, fork, port, runs, restarts, failures }: InstanceRecord): InstanceRecord {
  return { spec, fork, port, runs, restarts, failures }
}

function endOfLog({ active }: ServiceRecord, { bytesOf }: SwitchHow): number {
  return active === null ? 0 : logEnd(active, bytesOf(active))
}

// One count of bytes goes on over all versions that were active.
function moved<T extends InstanceRecord>(instance: T, bytes: number): T {
  return { ...instance, runs: instance.runs.map((run) => ({ ...run, logOffset: run.logOffset + bytes })) }
}
