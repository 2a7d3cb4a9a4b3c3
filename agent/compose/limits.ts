import { largestShare } from '../../shared/fair-shares.ts'
import { ROUND_BYTES } from '../../shared/flow-turns.ts'
import { FRONT_BOUNDS, HTTP_BOUNDS } from '../../shared/http/bounds.ts'
import { LINGERING_MAX } from '../../shared/lingering.ts'
import { operations } from '../../shared/routes.ts'
import { DEFINITION_BYTES } from '../../shared/schemas/common.ts'
import type { LimitName } from '../../shared/schemas/limits.ts'
import type { AgentSettings } from '../config/agent.ts'
import { TICKET_LIFE_MS, TICKETS_AT_ONCE } from '../core/access/tickets.ts'
import { TOKEN_LIMITS } from '../core/access/tokens.ts'
import { INCREMENTS_MAX } from '../core/backups/backups.ts'
import { BACKUPS_AT_ONCE } from '../core/backups/jobs.ts'
import { PART_BYTES } from '../core/backups/parts.ts'
import { BASES_MAX } from '../core/bases/create.ts'
import { BASE_LIMITS } from '../core/bases/unpack.ts'
import { RECORD_BYTES } from '../core/common/admission.ts'
import { EDGE_GRANT_BOUNDS } from '../core/edge/grants.ts'
import { DOMAINS_MAX } from '../core/edge/publishing.ts'
import { EVENT_STREAMS_AT_ONCE } from '../core/events/feed.ts'
import { LOG_STREAMS_AT_ONCE } from '../core/services/logs.ts'
import { PROBES_PER_SECOND } from '../core/services/probe-turns.ts'
import { SERVICES_MAX } from '../core/services/services.ts'
import { RUNS_KEPT } from '../core/services/versions.ts'
import { AUTOMATIC_SNAPSHOTS_MAX } from '../core/snapshots/automatic.ts'
import { SNAPSHOTS_MAX } from '../core/snapshots/snapshots.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import { HOLES_MAX } from '../drivers/files/reading.ts'
import { FILE_LIMITS } from '../drivers/files/transfers.ts'
import { TERMINALS_PER_BOX } from '../drivers/host/terminals.ts'
import { SNAPSHOTS_AT_ONCE } from '../drivers/pool/cow-filesystem.ts'
import { FILE_JSON_BYTES } from '../handlers/files/reads.ts'
import { UNREAD_OUTPUT } from '../lib/output/collector.ts'
import { RANGES_MAX } from '../lib/tar/sparse.ts'
import type { EdgeLimits } from '../ports/edge/edge.ts'
import { MESSAGE_RATE } from '../server/message-pace.ts'
import { HISTORY_LIMITS } from './retention.ts'

/** Returns every bound in force, as `GET /v1/config` publishes it. */
export function publishedLimits({ limits, pool, edge }: AgentSettings): Record<LimitName, number> {
  return {
    ...clientLimits(limits),
    ...edgeLimits(edge.limits),
    requests_per_second: limits.rateLimitPerSecond,
    requests_burst: limits.rateLimitBurst,
    tokens_per_root: TOKEN_LIMITS.perRoot,
    tokens_per_operator: TOKEN_LIMITS.perOperator,
    boxes_max: limits.boxesMax,
    volumes_max: limits.volumesMax,
    definition_bytes: DEFINITION_BYTES,
    record_bytes: RECORD_BYTES,
    record_bytes_per_project: largestShare(RECORD_BYTES),
    snapshots_per_owner: SNAPSHOTS_MAX,
    automatic_snapshots_per_owner: AUTOMATIC_SNAPSHOTS_MAX,
    bases_per_project: BASES_MAX,
    base_unpacked_bytes: BASE_LIMITS.unpackedBytes,
    base_uploads_at_once: BASE_LIMITS.uploadsAtOnce,
    base_uploads_at_once_per_project: BASE_LIMITS.uploadsAtOncePerProject,
    memory_overcommit: limits.memoryOvercommit,
    memory_reserve_bytes: limits.memoryReserveBytes,
    pool_reserve_percent: pool.reservePercent,
    starts_at_once: limits.startsAtOnce,
    snapshots_at_once: SNAPSHOTS_AT_ONCE,
    pids_per_box: limits.pidsPerBox,
    terminals_per_box: TERMINALS_PER_BOX,
    exec_output_bytes: limits.execOutputBytes,
    exec_kept_bytes: limits.execKeptBytes,
    exec_records_per_box: limits.execRecordsPerBox,
    exec_record_bytes_per_box: limits.execRecordBytesPerBox,
    execs_at_once: limits.execsAtOnce,
    execs_at_once_per_box: largestShare(limits.execsAtOnce),
    orphaned_execs: LINGERING_MAX,
    streams_at_once: limits.streamsAtOnce,
    streams_at_once_per_box: largestShare(limits.streamsAtOnce),
    websocket_messages_per_second: MESSAGE_RATE.perSecond,
    port_connections_at_once: limits.portConnectionsAtOnce,
    port_connections_at_once_per_box: largestShare(limits.portConnectionsAtOnce),
    sessions_per_box: SHIM_LIMITS.sessionsPerBox,
    sessions_at_once: SHIM_LIMITS.sessions,
    services_per_box: SERVICES_MAX,
    domains_per_box: DOMAINS_MAX,
    probes_per_second: PROBES_PER_SECOND,
    service_log_runs: RUNS_KEPT,
    log_streams_at_once: LOG_STREAMS_AT_ONCE,
    viewers_per_session: SHIM_LIMITS.clientsEach,
    session_kept_bytes: SHIM_LIMITS.replayBytes,
    tickets_at_once: TICKETS_AT_ONCE,
    ticket_keep_seconds: TICKET_LIFE_MS / 1000,
    file_json_bytes: FILE_JSON_BYTES,
    file_write_json_bytes: operations.writeFile.maxBodyBytes,
    file_list_results: 10_000,
    ...TRANSFER_LIMITS,
    large_body_bytes_at_once: limits.largeBodyBytesAtOnce,
    large_body_bytes_at_once_per_box: largestShare(limits.largeBodyBytesAtOnce),
    ...OUTPUT_LIMITS,
    unread_input_bytes_at_once: SHIM_LIMITS.unreadInputBytes,
    unread_input_bytes_at_once_per_box: largestShare(SHIM_LIMITS.unreadInputBytes),
    exec_body_bytes: operations.createExec.maxBodyBytes,
    backups_at_once: BACKUPS_AT_ONCE,
    backup_increments: INCREMENTS_MAX,
    backup_part_bytes: PART_BYTES,
    event_streams_at_once: EVENT_STREAMS_AT_ONCE,
    max_results: 1000,
    wait_seconds: 25,
    body_bytes: 1024 ** 2,
    ...historyLimits(limits),
  }
}

function historyLimits(limits: AgentSettings['limits']) {
  return {
    event_keep_seconds: limits.eventKeepMs / 1000,
    events_kept: limits.eventsKept,
    audit_keep_seconds: limits.auditKeepMs / 1000,
    audit_entries_kept: limits.auditKept,
    idempotency_keep_seconds: limits.idempotencyKeepMs / 1000,
    idempotency_bytes_kept: HISTORY_LIMITS.idempotencyBytes,
    operation_keep_seconds: limits.operationKeepMs / 1000,
    operations_kept: HISTORY_LIMITS.operations,
    ended_token_keep_seconds: limits.tokenKeepMs / 1000,
    ended_tokens_kept: HISTORY_LIMITS.endedTokens,
  }
}

const TRANSFER_LIMITS = {
  file_transfers_per_box: FILE_LIMITS.perBox,
  file_transfers_at_once: FILE_LIMITS.total,
  file_hole_bytes: HOLES_MAX,
  archive_file_pieces: RANGES_MAX,
}

const OUTPUT_LIMITS = {
  unread_output_bytes_per_second: UNREAD_OUTPUT.perSecond,
  unread_output_bytes_at_once_per_project: UNREAD_OUTPUT.burst,
  read_output_bytes_at_once: ROUND_BYTES,
}

/** Bounds of clients at the front and at the data address. */
function clientLimits({ connectionsAtOnce }: AgentSettings['limits']) {
  return {
    connections_at_once: connectionsAtOnce,
    connections_at_once_per_address: largestShare(connectionsAtOnce),
    front_body_bytes_at_once: FRONT_BOUNDS.bodyBytes,
    front_body_bytes_at_once_per_project: largestShare(FRONT_BOUNDS.bodyBytes),
    front_requests_at_once: FRONT_BOUNDS.requestsAtOnce,
    front_requests_at_once_per_project: largestShare(FRONT_BOUNDS.requestsAtOnce),
    front_ticket_body_bytes: FRONT_BOUNDS.ticketBodyBytes,
    front_refusals_per_second_per_address: FRONT_BOUNDS.refusalsPerSecond,
    pipelined_requests: HTTP_BOUNDS.requestsAhead,
    unread_answer_bytes: HTTP_BOUNDS.unreadBytes,
    unread_answer_bytes_per_address: largestShare(HTTP_BOUNDS.unreadBytes),
    unread_answer_seconds: HTTP_BOUNDS.unreadMs / 1000,
    body_fields: HTTP_BOUNDS.jsonFields,
    body_values: HTTP_BOUNDS.jsonValues,
    query_parameters: HTTP_BOUNDS.queryParameters,
  }
}

function edgeLimits({ connections, connectionsPerSecond, questionsPerSecond }: EdgeLimits) {
  return {
    edge_connections_at_once: connections,
    edge_connections_at_once_per_address: largestShare(connections),
    edge_connections_per_second_per_address: connectionsPerSecond,
    edge_decisions_per_second_per_address: questionsPerSecond,
    edge_grants_kept: EDGE_GRANT_BOUNDS.inAll,
    edge_grants_kept_per_token: EDGE_GRANT_BOUNDS.ofToken,
  }
}
