import type { ExecKey } from '../../ports/exec/outputs.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type {
  ForkRecord,
  InstanceOutline,
  InstanceRecord,
  RunRecord,
  ServiceOutline,
  ServiceRecord,
} from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'

/** Lists all versions of a service: active, preview, previous, next and retired. */
export function instancesOf(record: ServiceRecord): InstanceRecord[]
export function instancesOf(outline: ServiceOutline): InstanceOutline[]
export function instancesOf({ active, preview, previous, next, retired }: ServiceOutline): InstanceOutline[] {
  return [active, preview, previous, next, ...retired].filter((each) => each !== null)
}

/** Applies `edit` to each version. Returns the same record if none changed. */
export function mapInstances(record: ServiceRecord, edit: <T extends InstanceRecord>(instance: T) => T): ServiceRecord {
  const map = <T extends InstanceRecord>(instance: T | null): T | null => (instance === null ? null : edit(instance))
  const { active, preview, previous, next, retired } = record
  const mapped = {
    ...{ active: map(active), preview: map(preview), previous: map(previous), next: map(next) },
    retired: retired.map((each) => edit(each)),
  }
  const [before, after] = [instancesOf(record), instancesOf({ ...record, ...mapped })]
  return before.every((each, index) => each === after[index]) ? record : { ...record, ...mapped }
}

/** Returns the current run of a version, or its last. */
export function lastRun<R>(instance: { runs: R[] } | null): R | null {
  return instance?.runs.at(-1) ?? null
}

/** Lists the runs of all versions whose output is kept. */
export function runsOf(record: ServiceRecord): RunRecord[] {
  return instancesOf(record).flatMap(({ runs }) => runs)
}

/** Returns the id of the box, or fork, that a version runs in. */
export function hostOf({ boxId }: Pick<ServiceRecord, 'boxId'>, instance: InstanceRecord | null): string {
  return instance?.fork?.boxId ?? boxId
}

/** Returns the box as its fork, which is the same record under the fork's id. Without a fork the box itself. */
export function asFork(box: BoxRecord, fork: ForkRecord | null): BoxRecord {
  return fork === null ? box : { ...box, id: fork.boxId }
}

/** Lists where the output of a service's runs is kept. */
export function outputRefsOf(record: ServiceRecord): { boxId: string; execId: string }[] {
  return instancesOf(record).flatMap((each) => each.runs.map(({ execId }) => ({ boxId: hostOf(record, each), execId })))
}

/** Lists the forks that services have. */
export async function forksOf({ services }: Pick<Store, 'services'>): Promise<ForkRecord[]> {
  const forks: ForkRecord[] = []
  for await (const record of services.eachWithFork())
    forks.push(...instancesOf(record).flatMap((each) => each.fork ?? []))
  return forks
}

/** Lists where the output of all services is kept. */
export async function serviceOutputs({ services }: Pick<Store, 'services'>): Promise<ExecKey[]> {
  const outputs: ExecKey[] = []
  for await (const record of services.each()) outputs.push(...outputRefsOf(record))
  return outputs
}

/** Lists the ids of a fork: of the box, and of its copied subvolumes. */
export function forkIdsOf({ boxId, mounts }: ForkRecord): string[] {
  return [boxId, ...mounts.flatMap((each) => (each.readOnly ? [] : each.subvolume))]
}
