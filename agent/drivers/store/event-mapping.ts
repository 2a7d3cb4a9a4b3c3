import type { BackupRecord } from '../../ports/store/backups.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
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
export function changedFields(before: object, after: object, names: Readonly<Record<string, string>>): string[] {
  const [was, is] = [before, after] as Record<string, unknown>[]
  return Object.entries(names).flatMap(([field, name]) => (isSame(was?.[field], is?.[field]) ? [] : [name]))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const VOLUME_FIELDS = { sizeGb: 'size_gb', backupSchedule: 'backup_schedule', tags: 'tags' }
