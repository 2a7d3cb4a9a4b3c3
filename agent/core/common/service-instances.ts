import type { ForkRecord, InstanceRecord, RunRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'

/** All versions of a service that run, or of which something is kept. */
export function instancesOf({ active, preview, previous, next, retired }: ServiceRecord): InstanceRecord[] {
  return [active, preview, previous, next, ...retired].filter((each) => each !== null)
}

/** The record with each of its versions as `edit` makes it; the same record where all are left as they are. */
export function mapInstances(record: ServiceRecord, edit: <T extends InstanceRecord>(instance: T) => T): ServiceRecord {
  const map = <T extends InstanceRecord>(instance: T | null): T | null => (instance === null ? null : edit(instance))
  const { active, preview, previous, next, retired } = record
  const mapped = {
    ...{ active: map(active), preview: map(preview), previous: map(previous), next: map(next) },
    retired: retired.map((each) => edit(each)),
  }
  const [before, after] = [instancesOf(record), instancesOf({ ...record, ...mapped })]
  return before.every((each, place) => each === after[place]) ? record : { ...record, ...mapped }
}

/** The run that goes on, or was the last. */
export function lastRun(instance: InstanceRecord | null): RunRecord | null {
  return instance?.runs.at(-1) ?? null
}

/** Everything that was started for a service, as far as its output is kept. */
export function runsOf(record: ServiceRecord): RunRecord[] {
  return instancesOf(record).flatMap(({ runs }) => runs)
}

/** The id of the box, or of its copy, that a version runs in. */
export function hostOf({ boxId }: Pick<ServiceRecord, 'boxId'>, instance: InstanceRecord | null): string {
  return instance?.fork?.boxId ?? boxId
}

/** A box as its copy is told that it is: another one, which is like it. */
export function forkOf(box: BoxRecord, fork: ForkRecord | null): BoxRecord {
  return fork === null ? box : { ...box, id: fork.boxId }
}

/** The outputs that are kept of a service. */
export function placesOf(record: ServiceRecord): { boxId: string; execId: string }[] {
  return instancesOf(record).flatMap((each) => each.runs.map(({ execId }) => ({ boxId: hostOf(record, each), execId })))
}

/** The ids of what services have copied: of boxes, and of subvolumes. */
export function forkIdsOf(record: ServiceRecord): string[] {
  return instancesOf(record).flatMap(({ fork }) =>
    fork === null ? [] : [fork.boxId, ...fork.mounts.flatMap((each) => (each.readOnly ? [] : each.subvolume))],
  )
}
