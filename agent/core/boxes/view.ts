import type { Box } from '../../../shared/schemas/boxes.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { timestamp } from '../common/time.ts'
import { type EdgeAddress, hostOfBox, urlOf } from '../common/urls.ts'

/** What is not in the record: the name of its host, where its URLs are, and how much the caller may see. */
export interface BoxShown {
  node: string
  address: EdgeAddress
  withEnvironment: boolean
}

/** The Box of the API; `environment` is shown to those who may write, and empty for others. */
export function viewBox(record: BoxRecord, shown: BoxShown): Box {
  const { observed } = record
  return {
    id: record.id,
    name: record.name,
    project: record.project,
    status: observed.status,
    state: { reason: observed.reason, message: observed.message, since: timestamp(observed.since) },
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    base: record.base,
    fork_of: record.forkOf,
    node: shown.node,
    config: record.config,
    data_mounts: record.mounts.map(({ name, path, readOnly }) => ({ name, path, read_only: readOnly })),
    environment: shown.withEnvironment ? record.environment : {},
    port: record.port,
    published_domains: record.domains,
    tags: record.tags,
    termination_grace_period_seconds: record.gracePeriodSeconds,
    url: urlOf(hostOfBox(record, shown.address), shown.address),
    url_settings: record.urlSettings,
    lease_until: record.leaseUntil === null ? null : timestamp(record.leaseUntil),
  }
}
