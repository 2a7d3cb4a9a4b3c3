import { timestamp } from '../../../shared/time.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { InstanceRecord, RunRecord, ServiceChange, ServiceRecord } from '../../ports/store/services.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { QuotaRecord, VolumeRecord } from '../../ports/store/volumes.ts'

/** An event of a record, without its actor and time. */
export interface NewEvent {
  type: string
  /** Null for a resource that all projects share, or, visible only to admins, of the deployment. */
  project: string | null
  isForAdmins?: boolean
  resource: string
  data: Record<string, unknown>
}

/** A record before and after a change. Null if absent. */
export interface Change<T> {
  before: T | null
  after: T | null
}

/** Returns the events of a change of a box, of its mounts and of its restores. Pure. */
export function boxEvents({ before, after }: Change<BoxRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null) return []
  const draft = draftOf(record)
  if (before === null) {
    const { base, forkOf, observed } = record
    const created = draft('created', { status: observed.status, base, fork_of: forkOf })
    return [created, ...mountEvents(record, [], record.mounts)]
  }
  if (after === null) return [...mountEvents(record, record.mounts, []), draft('deleted')]
  const fields = changedFields(before, after, BOX_FIELDS)
  const { status, reason, message } = after.observed
  const isSameStatus = before.observed.status === status && before.observed.reason === reason
  return [
    ...(fields.length > 0 ? [draft('updated', { fields })] : []),
    ...powerEvents(before, after),
    ...mountEvents(after, before.mounts, after.mounts),
    ...restoreEvents(before, after),
    ...(isSameStatus ? [] : [draft(status, { reason, message })]),
  ]
}

/** A command with the names of its project and box as of now. */
export type NamedExec = ExecRecord & { of: { project: string; box: string } | null }

/** Returns the event of a command that ended after the kernel killed processes for lack of memory. Pure. */
export function execEvents({ after }: Change<NamedExec>): NewEvent[] {
  if (after === null || after.of === null) return []
  const { id: exec, boxId: id, of, status, exitCode, signal, oomKills = 0 } = after
  const resource = `/v1/projects/${of.project}/boxes/${of.box}`
  const data = { id, exec, oom_kills: oomKills, status, exit_code: exitCode, signal }
  return oomKills === 0 ? [] : [{ type: 'box.oom_killed', project: of.project, resource, data }]
}

/** A service with the names of its project and box, which its record lacks. */
export type NamedService = ServiceRecord & { of: { project: string; box: string } }

/**
 * Returns the events of a change of a service: new entries of its history, starts and ends of its processes, and its deletion.
 * Pure.
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
  const started = runs.filter(({ execId }) => !known.has(execId))
  const fields = before === null ? [] : changedFields(before, after, SERVICE_FIELDS)
  const ended = runs.filter(({ execId, end }) => end !== null && (known.get(execId)?.end ?? null) === null)
  return [
    ...newChanges(before?.history ?? [], after.history).map(({ what, by, generation }) =>
      draft(what, { generation, by }),
    ),
    ...(fields.length > 0 ? [draft('updated', { fields })] : []),
    ...(isFailure(before, after) ? [draft('preview_failed', { reason: after.preview?.failure?.why ?? null })] : []),
    ...started.map(({ execId }) => draft('process_started', { process: execId })),
    ...ended.map(({ execId, end }) => {
      const { exitCode = null, signal = null, outOfMemory = false, oomKills = 0 } = end ?? {}
      const kills = { out_of_memory: outOfMemory, oom_kills: oomKills }
      return draft('process_ended', { process: execId, exit_code: exitCode, signal, ...kills })
    }),
  ]
}

function draftOf({ id, project, name }: BoxRecord): (type: string, data?: object) => NewEvent {
  return (type, data = {}) => ({
    ...{ type: `box.${type}`, project, resource: `/v1/projects/${project}/boxes/${name}` },
    data: { id, ...data },
  })
}

// Changes by the service itself, such as after a failed start, keep the generation.
function powerEvents(before: BoxRecord, after: BoxRecord): NewEvent[] {
  const isRequested = before.desired.generation !== after.desired.generation && after.restore === before.restore
  if (!isRequested || before.desired.power === after.desired.power) return []
  return [draftOf(after)(after.desired.power === 'running' ? 'resume_requested' : 'stop_requested')]
}

function restoreEvents(before: BoxRecord, after: BoxRecord): NewEvent[] {
  const draft = draftOf(after)
  const fault = after.restoreFault
  const isNewFault = fault !== null && fault.root !== before.restoreFault?.root
  const pending = after.restore
  return [
    ...(pending !== null && pending.root !== before.restore?.root
      ? [draft('restoring', { snapshot: pending.snapshot })]
      : []),
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

// The event leaves out the last output, which may contain secrets.
function isFailure(before: ServiceRecord | null, after: ServiceRecord): boolean {
  return (after.preview?.failure ?? null) !== null && (before?.preview?.failure ?? null) === null
}

// Collects the runs of all slots, because a run keeps its id when its version moves to another slot.
function runsOf(record: ServiceRecord | null): RunRecord[] {
  const isInstance = (value: unknown): value is InstanceRecord =>
    typeof value === 'object' && value !== null && 'runs' in value && Array.isArray(value.runs)
  return Object.values(record ?? {})
    .flat()
    .filter(isInstance)
    .flatMap(({ runs }) => runs)
}

// Histories lose their oldest entries, so the newer one begins somewhere in the older one.
function newChanges(before: readonly ServiceChange[], after: readonly ServiceChange[]): readonly ServiceChange[] {
  const [older, newer] = [before, after].map((changes) => changes.map((change) => JSON.stringify(change)))
  const begin =
    older?.findIndex((_, start) => older.slice(start).every((change, index) => change === newer?.[index])) ?? -1
  return begin < 0 ? after : after.slice(before.length - begin)
}

const BOX_FIELDS = {
  config: 'config',
  environment: 'environment',
  port: 'port',
  protocol: 'protocol',
  tags: 'tags',
  gracePeriodSeconds: 'termination_grace_period_seconds',
  urlSettings: 'url_settings',
  domains: 'published_domains',
}
// Other changes are entries of the history.
const SERVICE_FIELDS = { domains: 'published_domains' }

/** Returns the events of a change of a data volume. Pure, as all here. */
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

/** Returns the events of a change of a snapshot. */
export function snapshotEvents({ before, after }: Change<SnapshotRecord>): NewEvent[] {
  const record = after ?? before
  if (record === null || (before !== null && after !== null)) return []
  const { id, project, owner, name, automatic } = record
  const of = owner.kind === 'box' ? 'boxes' : 'data'
  const resource = `/v1/projects/${project}/${of}/${owner.name}/snapshots/${name}`
  const data = { id, [owner.kind]: owner.name, automatic }
  return [{ type: before === null ? 'snapshot.created' : 'snapshot.deleted', project, resource, data }]
}

/** Returns the events of a change of a backup. Its deletion counts once clients no longer see it, even if others build on it. */
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

/** Returns the events of a change of a base. */
export function baseEvents({ before, after }: Change<BaseRecord>): NewEvent[] {
  const record = after ?? before
  // The cell that created it reports it.
  if (record === null || record.cell !== undefined || (before !== null && after !== null)) return []
  const { id, project, name, version, source } = record
  const resource = project === null ? `/v1/bases/${name}` : `/v1/projects/${project}/bases/${name}`
  const data = { id, version, ...(before === null ? { source } : {}) }
  return [{ type: before === null ? 'base.created' : 'base.deleted', project, resource, data }]
}

/** Returns the events of a change of the quota of a project. */
export function quotaEvents({ after }: Change<QuotaRecord & { project: string }>): NewEvent[] {
  if (after === null) return []
  const { project, boxes, cpus, ramMb, storageGb } = after
  const data = { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb }
  return [{ type: 'quota.updated', project, resource: `/v1/projects/${project}/quota`, data }]
}

/** Returns the events of a change of a token. Pruning a token causes none. */
export function tokenEvents({ before, after }: Change<TokenRecord>): NewEvent[] {
  if (after === null) return []
  const { id, name, projects, permissions, expiresAt } = after
  const draft = (type: string, data: object): NewEvent => ({
    ...{ type: `token.${type}`, project: null, isForAdmins: true, resource: `/v1/tokens/${id}` },
    data: { id, name, ...data },
  })
  if (before === null) {
    const expires = expiresAt === null ? null : timestamp(expiresAt)
    return [draft('created', { projects, permissions, expires_at: expires })]
  }
  return before.revokedAt === null && after.revokedAt !== null ? [draft('revoked', {})] : []
}

/** Returns the API names of the fields in which two records differ. */
function changedFields(before: object, after: object, names: Readonly<Record<string, string>>): string[] {
  const [was, is] = [before, after] as Record<string, unknown>[]
  return Object.entries(names).flatMap(([field, name]) => (isSame(was?.[field], is?.[field]) ? [] : [name]))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const VOLUME_FIELDS = { sizeGb: 'size_gb', backupSchedule: 'backup_schedule', tags: 'tags' }
