import type { InstanceRecord, RunRecord, ServiceChange, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/store.ts'
import { type Change, changedFields, type NewEvent } from './event-mapping.ts'

/** What has happened to a box, to its data volumes and to its restores. A pure function. */
export function boxEvents({ before, after }: Change<BoxRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null) return []
  const draft = draftOf(record)
  if (before === null) {
    const { base, forkOf, observed } = record
    const made = draft('created', { status: observed.status, base, fork_of: forkOf })
    return [made, ...mountEvents(record, [], record.mounts)]
  }
  if (after === null) return [...mountEvents(record, record.mounts, []), draft('deleted')]
  const fields = changedFields(before, after, BOX_FIELDS)
  const { status, reason, message } = after.observed
  const isSeen = before.observed.status === status && before.observed.reason === reason
  return [
    ...(fields.length > 0 ? [draft('updated', { fields })] : []),
    ...powerEvents(before, after),
    ...mountEvents(after, before.mounts, after.mounts),
    ...restoreEvents(before, after),
    ...(isSeen ? [] : [draft(status, { reason, message })]),
  ]
}

/** A service with the names that its record lacks. */
export type NamedService = ServiceRecord & { of: { project: string; box: string } }

/**
 * What has happened to a service: all that came into its history, the starts and ends of its processes, and its deletion.
 * A pure function.
 */
export function serviceEvents({ before, after }: Change<NamedService>): NewEvent[] {
  const record = after ?? before
  if (record === null) return []
  const { name, of, boxId } = record
  const draft = (type: string, data: object = {}): NewEvent => ({
    ...{ type: `service.${type}`, project: of.project },
    resource: `/v1/projects/${of.project}/boxes/${of.box}/services/${name}`,
    data: { box: of.box, box_id: boxId, service: name, ...data },
  })
  if (after === null) return [draft('deleted')]
  const known = new Map(runsOf(before).map((run) => [run.execId, run]))
  const runs = runsOf(after)
  const begun = runs.filter(({ execId }) => !known.has(execId))
  const fields = before === null ? [] : changedFields(before, after, SERVICE_FIELDS)
  const over = runs.filter(({ execId, end }) => end !== null && (known.get(execId)?.end ?? null) === null)
  return [
    ...newChanges(before?.history ?? [], after.history).map(({ what, by, generation }) =>
      draft(what, { generation, by }),
    ),
    ...(fields.length > 0 ? [draft('updated', { fields })] : []),
    ...(isFailure(before, after) ? [draft('preview_failed', { reason: after.preview?.failure?.why ?? null })] : []),
    ...begun.map(({ execId }) => draft('process_started', { process: execId })),
    ...over.map(({ execId, end }) => {
      const { exitCode = null, signal = null, outOfMemory = false } = end ?? {}
      return draft('process_ended', { process: execId, exit_code: exitCode, signal, out_of_memory: outOfMemory })
    }),
  ]
}

function draftOf({ id, project, name }: BoxRecord): (type: string, data?: object) => NewEvent {
  return (type, data = {}) => ({
    ...{ type: `box.${type}`, project, resource: `/v1/projects/${project}/boxes/${name}` },
    data: { id, ...data },
  })
}

// The service's own turns, such as after a failed start, leave the generation as it is.
function powerEvents(before: BoxRecord, after: BoxRecord): NewEvent[] {
  const isAsked = before.desired.generation !== after.desired.generation && after.restore === before.restore
  if (!isAsked || before.desired.power === after.desired.power) return []
  return [draftOf(after)(after.desired.power === 'running' ? 'resume_requested' : 'stop_requested')]
}

function restoreEvents(before: BoxRecord, after: BoxRecord): NewEvent[] {
  const draft = draftOf(after)
  const fault = after.restoreFault
  const isNewFault = fault !== null && fault.root !== before.restoreFault?.root
  const wish = after.restore
  return [
    ...(wish !== null && wish.root !== before.restore?.root ? [draft('restoring', { snapshot: wish.snapshot })] : []),
    ...(before.root === after.root ? [] : [draft('restored', { snapshot: before.restore?.snapshot ?? null })]),
    ...(isNewFault ? [draft('restore_failed', { code: fault.code, detail: fault.detail })] : []),
  ]
}

function mountEvents(
  { id, project, name: box }: BoxRecord,
  before: readonly MountRecord[],
  after: readonly MountRecord[],
): NewEvent[] {
  const draft = (type: string, { volumeId, name, path, readOnly }: MountRecord): NewEvent => ({
    ...{ type: `data.${type}`, project, resource: `/v1/projects/${project}/data/${name}` },
    data: { id: volumeId, box, box_id: id, path, read_only: readOnly },
  })
  const isIn = (mounts: readonly MountRecord[], { volumeId }: MountRecord): boolean =>
    mounts.some((mount) => mount.volumeId === volumeId)
  return [
    ...before.filter((mount) => !isIn(after, mount)).map((mount) => draft('detached', mount)),
    ...after.filter((mount) => !isIn(before, mount)).map((mount) => draft('attached', mount)),
  ]
}

// What it wrote last is not told: it may hold anything.
function isFailure(before: ServiceRecord | null, after: ServiceRecord): boolean {
  return (after.preview?.failure ?? null) !== null && (before?.preview?.failure ?? null) === null
}

// Whatever instances a service has: what runs is known by its id, wherever it is moved.
function runsOf(record: ServiceRecord | null): RunRecord[] {
  const isInstance = (value: unknown): value is InstanceRecord =>
    typeof value === 'object' && value !== null && 'runs' in value && Array.isArray(value.runs)
  return Object.values(record ?? {})
    .flat()
    .filter(isInstance)
    .flatMap(({ runs }) => runs)
}

// The oldest are forgotten: the newer history begins somewhere in the older one.
function newChanges(before: readonly ServiceChange[], after: readonly ServiceChange[]): readonly ServiceChange[] {
  const [older, newer] = [before, after].map((changes) => changes.map((change) => JSON.stringify(change)))
  const begin = older?.findIndex((_, at) => older.slice(at).every((change, place) => change === newer?.[place])) ?? -1
  return begin < 0 ? after : after.slice(before.length - begin)
}

const BOX_FIELDS = {
  config: 'config',
  environment: 'environment',
  port: 'port',
  tags: 'tags',
  gracePeriodSeconds: 'termination_grace_period_seconds',
  urlSettings: 'url_settings',
  domains: 'published_domains',
}
// What else changes comes into the history.
const SERVICE_FIELDS = { domains: 'published_domains' }
