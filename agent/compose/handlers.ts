import { largestShare } from '../../shared/fair-shares.ts'
import { operations } from '../../shared/routes.ts'
import type { AgentSettings } from '../config/agent.ts'
import { createQuotas } from '../core/access/quotas.ts'
import { TICKET_LIFE_MS } from '../core/access/tickets.ts'
import { INCREMENTS_MAX } from '../core/backups/backups.ts'
import { PART_BYTES } from '../core/backups/parts.ts'
import { BACKUPS_AT_ONCE } from '../core/backups/work.ts'
import { BASES_MAX } from '../core/bases/create.ts'
import { BASE_LIMITS } from '../core/bases/unpack.ts'
import { type Boxes, createBoxes } from '../core/boxes/boxes.ts'
import { createBoxRestore } from '../core/boxes/restore.ts'
import { createSnapshotDiff } from '../core/boxes/snapshot-diff.ts'
import { createBoxSnapshots } from '../core/boxes/snapshots.ts'
import { createAdmission } from '../core/common/admission.ts'
import { DOMAINS_MAX } from '../core/edge/publishing.ts'
import { routedBoxes } from '../core/edge/routed-boxes.ts'
import { EVENT_STREAMS_AT_ONCE } from '../core/events/feed.ts'
import { createConsoles } from '../core/exec/consoles.ts'
import { createStorage } from '../core/health/storage-report.ts'
import { createOperations } from '../core/operations/operations.ts'
import { LOG_STREAMS_AT_ONCE } from '../core/services/log-streams.ts'
import { SERVICES_MAX } from '../core/services/put.ts'
import { RUNS_KEPT } from '../core/services/runs.ts'
import { AUTOMATIC_SNAPSHOTS_MAX } from '../core/snapshots/automatic.ts'
import { SNAPSHOTS_MAX } from '../core/snapshots/bounds.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import { FILE_LIMITS } from '../drivers/files/transfers.ts'
import { createLinuxHost } from '../drivers/host/facts.ts'
import { createQuotaHandlers } from '../handlers/access/quotas.ts'
import { createTicketHandlers } from '../handlers/access/tickets.ts'
import { createTokenHandlers } from '../handlers/access/tokens.ts'
import { createBoxHandlers } from '../handlers/boxes/boxes.ts'
import { createBoxLeaseHandlers } from '../handlers/boxes/lease.ts'
import { createBoxMetricsHandlers } from '../handlers/boxes/metrics.ts'
import { createBoxReplies } from '../handlers/boxes/replies.ts'
import { createSnapshotDiffHandlers } from '../handlers/boxes/snapshot-diff.ts'
import { createBoxSnapshotHandlers } from '../handlers/boxes/snapshots.ts'
import type { Handlers, StreamHandlers } from '../handlers/common/call.ts'
import { guardPool } from '../handlers/common/pool-guard.ts'
import { createHistoryHandlers } from '../handlers/events/events.ts'
import { createExecHandlers } from '../handlers/exec/exec.ts'
import { createSessionHandlers, createStreamHandlers } from '../handlers/exec/streams.ts'
import { createFileHandlers } from '../handlers/files/files.ts'
import { createFileReadHandlers, FILE_JSON_BYTES } from '../handlers/files/reads.ts'
import { createFileRestoreHandlers } from '../handlers/files/restore.ts'
import { createSpaceHandlers } from '../handlers/health/space.ts'
import { createSystemHandlers } from '../handlers/health/system.ts'
import type { Store } from '../ports/store/store.ts'
import type { Drivers } from './drivers.ts'
import type { HandlerParts } from './parts.ts'
import { wireServices } from './services.ts'
import { wireStorage } from './storage.ts'

/** Wires the core and gives a handler for each operation, and the boxes that they speak of. */
export function wireHandlers(parts: HandlerParts): { handlers: Handlers; streams: StreamHandlers; boxes: Boxes } {
  const { settings, deployment, drivers, reconciler, execs, tickets, dataUrl, clock, version } = parts
  const { store, tokens } = deployment
  const defaults = {
    base: settings.defaultBase,
    config: { cpus: 1, ram_mb: 512, region: settings.region, storage_gb: 10 },
    gracePeriodSeconds: 10,
    volumeSizeGb: 10,
  }
  const { filesystem, runtime, files } = drivers
  const admission = createAdmission({ store, host: createLinuxHost(), limits: settings.limits })
  const shared = { store, filesystem, runtime, reconciler, clock, admission, defaults }
  const boxes = routedBoxes(createBoxes(shared), parts.edge.routes)
  const consoles = createConsoles({ runtime, clock, activity: parts.activity })
  const underWay = createOperations({ store, reconciler, jobs: parts.jobs, clock })
  const node = settings.runtime === 'kubernetes' ? settings.kubernetes.node : settings.region
  const replies = createBoxReplies({ operations: underWay, node, address: parts.edge.address })
  const handlers = {
    ...createSystemHandlers({
      store,
      version,
      drivers: kindsOf(drivers, store),
      defaults,
      limits: toldLimits(settings),
      health: parts.health,
    }),
    ...createTokenHandlers({ tokens, operations: underWay }),
    ...createBoxHandlers({ boxes, replies }),
    ...createBoxLeaseHandlers({ store, clock, boxes, replies }),
    ...createBoxMetricsHandlers({ ...shared, boxes, limits: settings.limits }),
    ...createBoxSnapshotHandlers({
      snapshots: createBoxSnapshots({ ...shared, boxes, limits: settings.limits }),
      restore: createBoxRestore({ ...shared, boxes }),
      replies,
    }),
    ...createSnapshotDiffHandlers(createSnapshotDiff({ ...shared, boxes })),
    ...createExecHandlers({ boxes, execs }),
    ...wireServices(parts, { boxes, replies, admission }),
    ...createSessionHandlers({ boxes, consoles }),
    ...createFileHandlers({ boxes, store, files, filesystem, tickets, dataUrl }),
    ...createFileReadHandlers({ boxes, store, files, filesystem, tickets, dataUrl }),
    ...createFileRestoreHandlers({ boxes, store, files, filesystem, tickets, dataUrl }),
    ...createTicketHandlers({ boxes, tickets, dataUrl }),
    ...wireStorage(parts, { ...shared, boxes, replies, operations: underWay }),
    ...createSpaceHandlers(createStorage(shared)),
    ...{ ...createQuotaHandlers({ quotas: createQuotas({ store, clock }) }), ...createHistoryHandlers(parts) },
  }
  return { handlers: guardPool(handlers, filesystem), streams: createStreamHandlers({ boxes, execs, consoles }), boxes }
}

function kindsOf({ runtime, filesystem, backupStore }: Drivers, store: Store) {
  return { runtime: runtime.kind, filesystem: filesystem.kind, store: store.kind, backups: backupStore.kind }
}

function toldLimits({ limits }: AgentSettings): Record<string, number> {
  return {
    requests_per_second: limits.rateLimitPerSecond,
    requests_burst: limits.rateLimitBurst,
    boxes_max: limits.boxesMax,
    volumes_max: limits.volumesMax,
    snapshots_per_owner: SNAPSHOTS_MAX,
    automatic_snapshots_per_owner: AUTOMATIC_SNAPSHOTS_MAX,
    bases_per_project: BASES_MAX,
    base_unpacked_bytes: BASE_LIMITS.unpackedBytes,
    base_uploads_at_once: BASE_LIMITS.uploadsAtOnce,
    base_uploads_at_once_per_project: BASE_LIMITS.uploadsAtOncePerProject,
    memory_overcommit: limits.memoryOvercommit,
    memory_reserve_bytes: limits.memoryReserveBytes,
    pids_per_box: limits.pidsPerBox,
    exec_output_bytes: limits.execOutputBytes,
    exec_kept_bytes: limits.execKeptBytes,
    exec_records_per_box: limits.execRecordsPerBox,
    exec_record_bytes_per_box: limits.execRecordBytesPerBox,
    execs_at_once: limits.execsAtOnce,
    execs_at_once_per_box: largestShare(limits.execsAtOnce),
    streams_at_once: limits.streamsAtOnce,
    streams_at_once_per_box: largestShare(limits.streamsAtOnce),
    sessions_per_box: SHIM_LIMITS.sessionsPerBox,
    sessions_at_once: SHIM_LIMITS.sessions,
    services_per_box: SERVICES_MAX,
    domains_per_box: DOMAINS_MAX,
    service_log_runs: RUNS_KEPT,
    log_streams_at_once: LOG_STREAMS_AT_ONCE,
    viewers_per_session: SHIM_LIMITS.viewersEach,
    session_kept_bytes: SHIM_LIMITS.replayBytes,
    ticket_keep_seconds: TICKET_LIFE_MS / 1000,
    file_json_bytes: FILE_JSON_BYTES,
    file_write_json_bytes: operations.writeFile.maxBodyBytes,
    file_list_results: 10_000,
    file_transfers_per_box: FILE_LIMITS.perBox,
    file_transfers_at_once: FILE_LIMITS.atOnce,
    large_body_bytes_at_once: limits.largeBodyBytesAtOnce,
    large_body_bytes_at_once_per_box: largestShare(limits.largeBodyBytesAtOnce),
    unread_input_bytes_at_once: SHIM_LIMITS.unreadInputBytes,
    unread_input_bytes_at_once_per_box: largestShare(SHIM_LIMITS.unreadInputBytes),
    exec_body_bytes: operations.createExec.maxBodyBytes,
    backups_at_once: BACKUPS_AT_ONCE,
    backup_increments: INCREMENTS_MAX,
    backup_part_bytes: PART_BYTES,
    event_keep_seconds: limits.eventKeepMs / 1000,
    event_streams_at_once: EVENT_STREAMS_AT_ONCE,
    events_kept: limits.eventsKept,
    audit_keep_seconds: limits.auditKeepMs / 1000,
    audit_entries_kept: limits.auditKept,
    max_results: 1000,
    wait_seconds: 25,
    idempotency_keep_seconds: limits.idempotencyKeepMs / 1000,
    operation_keep_seconds: limits.operationKeepMs / 1000,
    ended_token_keep_seconds: limits.tokenKeepMs / 1000,
    body_bytes: 1024 ** 2,
  }
}
