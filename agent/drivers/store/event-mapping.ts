import type { BackupRecord } from '../../ports/store/backups.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { InstanceRecord, RunRecord, ServiceChange, ServiceRecord } from '../../ports/store/services.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/store.ts'
import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { QuotaRecord, VolumeRecord } from '../../ports/store/volumes.ts'

/** What has happened to a record, without who did it and when. */
export interface NewEvent {
  type: string
  /** Null: of what all projects share, or, for admins alone, of the deployment. */
  project: string | null
  isForAdmins?: boolean
  resource: string
  data: Record<string, unknown>
}

/** A record before and after a change; null: not there. */
export interface Change<T> {
  before: T | null
  after: T | null
}

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

/** What has happened to a data volume. A pure function, as all here. */
export function volumeEvents({ before, after }: Change<VolumeRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null) return []
  const { id, project, name, sizeGb } = record
  const draft = (type: string, data: object = {}): NewEvent => ({
    ...{ type: `data.${type}`, project, resource: `/v1/projects/${project}/data/${name}` },
    data: { id, ...data },
  })
  if (before === null) return [draft('created', { size_gb: sizeGb, from: record.from })]
  if (after === null) return [draft('deleted')]
  const fields = changedFields(before, after, VOLUME_FIELDS)
  return [
    ...(fields.length > 0 ? [draft('updated', { fields })] : []),
    ...(before.subvolume === after.subvolume ? [] : [draft('restored')]),
  ]
}

/** What has happened to a snapshot. */
export function snapshotEvents({ before, after }: Change<SnapshotRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null || (before !== null && after !== null)) return []
  const { id, project, owner, name, automatic } = record
  const of = owner.kind === 'box' ? 'boxes' : 'data'
  const resource = `/v1/projects/${project}/${of}/${owner.name}/snapshots/${name}`
  const data = { id, [owner.kind]: owner.name, automatic }
  return [{ type: before === null ? 'snapshot.created' : 'snapshot.deleted', project, resource, data }]
}

/** What has happened to a backup: it is deleted when clients no longer see it, whatever may still build on it. */
export function backupEvents({ before, after }: Change<BackupRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null) return []
  const { id, project, volume, automatic, error } = record
  const draft = (type: string, more: object = {}): NewEvent => ({
    ...{ type: `backup.${type}`, project, resource: `/v1/projects/${project}/data/${volume}/backups/${id}` },
    data: { id, volume, automatic, ...more },
  })
  const isEnd = after !== null && before?.status === 'running' && after.status !== 'running'
  const wasThere = before !== null && before.deletedAt === null
  const isGone = after === null || after.deletedAt !== null
  return [
    ...(before === null ? [draft('created')] : []),
    ...(isEnd ? [draft(after.status, after.status === 'failed' ? { error } : {})] : []),
    ...(wasThere && isGone ? [draft('deleted')] : []),
  ]
}

/** What has happened to a base. */
export function baseEvents({ before, after }: Change<BaseRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null || (before !== null && after !== null)) return []
  const { id, project, name, version, source } = record
  const resource = project === null ? `/v1/bases/${name}` : `/v1/projects/${project}/bases/${name}`
  const data = { id, version, ...(before === null ? { source } : {}) }
  return [{ type: before === null ? 'base.created' : 'base.deleted', project, resource, data }]
}

/** What has happened to the quota of a project. */
export function quotaEvents({ after }: Change<QuotaRecord & { project: string }>): NewEvent[] {
  if (after === null) return []
  const { project, boxes, cpus, ramMb, storageGb } = after
  const data = { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb }
  return [{ type: 'quota.updated', project, resource: `/v1/projects/${project}/quota`, data }]
}

/** What has happened to a token; that it is forgotten is nothing. */
export function tokenEvents({ before, after }: Change<TokenRecord>): NewEvent[] {
  if (after === null) return []
  const { id, name, projects, permissions, expiresAt } = after
  const draft = (type: string, data: object): NewEvent => ({
    ...{ type: `token.${type}`, project: null, isForAdmins: true, resource: `/v1/tokens/${id}` },
    data: { id, name, ...data },
  })
  if (before === null) {
    const expires = expiresAt === null ? null : new Date(expiresAt).toISOString()
    return [draft('created', { projects, permissions, expires_at: expires })]
  }
  return before.revokedAt === null && after.revokedAt !== null ? [draft('revoked', {})] : []
}

/** The fields, by the names that clients know, in which two records differ. */
function changedFields(before: object, after: object, names: Readonly<Record<string, string>>): string[] {
  const [was, is] = [before, after] as Record<string, unknown>[]
  return Object.entries(names).flatMap(([field, name]) => (isSame(was?.[field], is?.[field]) ? [] : [name]))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const VOLUME_FIELDS = { sizeGb: 'size_gb', backupSchedule: 'backup_schedule', tags: 'tags' }
