import * as z from 'zod'

/** The description of every bound that `GET /v1/config` publishes. The last words of a name are its unit. */
export const LIMIT_TEXTS = {
  requests_per_second: 'Requests per second from one token, together with tokens created with it. Above this, 429.',
  requests_burst: 'Requests from one token, with tokens created with it, in one burst.',
  tokens_per_root:
    'Live tokens in one family: a token created on the host or by an operator, and all tokens created with it.',
  tokens_per_operator: 'Live tokens created by one token with `admin` for all projects.',
  boxes_max: 'Boxes in the deployment.',
  volumes_max: 'Data volumes in the deployment.',
  definition_bytes:
    'Size as JSON of the environment of a box, or of the environment and commands of a service together.',
  record_bytes:
    'Total size of all box and service records as JSON. Requests that would exceed it get 403. A service counts as if it were started.',
  record_bytes_per_project: 'Same for one project, if no others compete.',
  snapshots_per_owner: 'Snapshots of one box or volume, including automatic ones. Only restores can exceed it.',
  automatic_snapshots_per_owner: 'Automatic snapshots kept for one box or volume. Older ones are deleted.',
  bases_per_project: 'Bases in a project. The same number applies to shared bases.',
  base_unpacked_bytes: 'Unpacked size of the archive of a base.',
  base_uploads_at_once: 'Bases being created from archives or images at the same time.',
  base_uploads_at_once_per_project: 'Same for one project, if no others compete.',
  memory_overcommit: 'How many times running boxes can reserve the memory of the host.',
  memory_reserve_bytes: 'Host memory that must be available for a box to start.',
  pool_reserve_percent: 'Share of the pool reserved for projects that use less than that share.',
  starts_at_once:
    'Boxes starting at the same time, and as many commands, services and consoles. Others wait. Default: two per CPU, at least 4.',
  snapshots_at_once: 'Snapshots being created at the same time, including disks of new boxes and volumes. Others wait.',
  pids_per_box: 'Processes and threads in a box.',
  terminals_per_box: 'Open pseudo-terminals in a box, including those of consoles and commands.',
  exec_output_bytes: 'Output returned with a command, from the end of each stream.',
  exec_kept_bytes: 'Output kept for a command, from the end of each stream.',
  exec_records_per_box: 'Ended commands kept for a box.',
  exec_record_bytes_per_box: 'Total size of these records and their output.',
  execs_at_once: 'Commands running at the same time.',
  execs_at_once_per_box: 'Same for one box, if no others compete.',
  orphaned_execs:
    'Ended commands with streams held open by processes they left running; separate limits with and without `no_hup`. Above it, the oldest of the boxes, projects and tokens with the most are closed.',
  connections_at_once: 'Open connections, for the front and for the data address separately.',
  connections_at_once_per_address:
    'Same for one address (IPv6: one /64), if no others compete. A new connection replaces one without a request.',
  edge_connections_at_once: 'Open connections at the edge, which serves box URLs.',
  edge_connections_at_once_per_address: 'Same for one address (IPv6: one /64), if no others compete.',
  edge_connections_per_second_per_address: 'New connections per second from one address at the edge, over 10 s.',
  edge_decisions_per_second_per_address:
    'Requests per second from one address that the agent decides, over 10 s. Above this, 429. Errors that the agent sends in place of a box have a counter of their own, with the same limit.',
  edge_grants_kept:
    'Browser sessions and tokens that the edge authorizes without asking the agent. Above it, the oldest of the tokens with the most are dropped, with tokens created with them.',
  edge_grants_kept_per_token: 'Same for one token. Above it, its oldest are dropped.',
  streams_at_once: 'Open WebSockets of commands and consoles.',
  streams_at_once_per_box: 'Same for one box, if no others compete.',
  websocket_messages_per_second:
    'WebSocket messages per second from one token, with tokens created with it. Above this, the server reads more slowly.',
  port_connections_at_once: 'Open connections to box ports over WebSockets.',
  port_connections_at_once_per_box: 'Same for one box, if no others compete.',
  sessions_per_box: 'Console sessions in a box.',
  sessions_at_once: 'Console sessions in total.',
  services_per_box: 'Services in a box.',
  domains_per_box: 'Domains of a box or of a service.',
  probes_per_second:
    'Readiness probes per second in total, taken in turn by project. A command in a box counts as five. Above this, probes are delayed.',
  service_log_runs: 'Starts of a service with a kept log.',
  log_streams_at_once: 'Logs followed as streams at the same time.',
  viewers_per_session: 'Clients attached to one console session.',
  session_kept_bytes: 'Output that a console session replays, from its end.',
  tickets_at_once: 'Open tickets, including those that expired unused less than a minute ago.',
  ticket_keep_seconds: 'Lifetime of a ticket.',
  file_json_bytes: 'Size of a file read as JSON.',
  file_write_json_bytes: 'Size of the JSON body that writes a file.',
  file_list_results: 'Entries on one page of a file list.',
  file_transfers_per_box: 'Archives, large files, tree listings and tree removals of one box at the same time.',
  file_transfers_at_once: 'Same for all boxes.',
  file_hole_bytes: 'Bytes of holes that a response with a sparse file can carry. Its archive omits holes.',
  archive_file_pieces: 'Pieces of data between the holes of one file in an archive.',
  large_body_bytes_at_once: 'Total size of bodies over 64 KiB in requests without a response yet.',
  large_body_bytes_at_once_per_box: 'Same for one box, if no others compete.',
  unread_output_bytes_per_second:
    'Unread output per second of all boxes, in the agent and again for commands with `no_hup`. Others wait. A read counts for its bytes plus 16 KiB.',
  unread_output_bytes_at_once_per_project: 'Same for one project, before it has to wait.',
  read_output_bytes_at_once:
    'Bytes of all kinds (read output, files, archives, uploads, ports, bases, backups) in transit between other work, in the agent and again in the front. Covers all projects together. Others wait, and there is no limit over time.',
  unread_input_bytes_at_once: 'Total input that commands with `no_hup` have not read yet.',
  unread_input_bytes_at_once_per_box: 'Same for one box, if no others compete.',
  front_body_bytes_at_once:
    'Total size of bodies over 16 KiB in requests that the front has not answered yet. A streamed body counts as 512 KiB.',
  front_body_bytes_at_once_per_project:
    'Same for one project, or for one source address without a token, if no others compete.',
  front_requests_at_once:
    'Requests that the front has sent to the agent and that have no response yet. The same number applies to requests with long responses.',
  front_requests_at_once_per_project: 'Same for one project, if no others compete. Other requests wait for their turn.',
  front_ticket_body_bytes: 'Size of a JSON body with a ticket at the front.',
  front_refusals_per_second_per_address:
    'Refused requests per second at the front from one source address without a valid token. Above 1,000 at once, they wait and get 429.',
  pipelined_requests: 'Pipelined requests on one connection. With more, the connection is closed.',
  unread_answer_bytes:
    'Responses that clients have not received yet, for the front, the agent and the data address separately.',
  unread_answer_bytes_per_address: 'Same for one source address, or one account in the agent, if no others compete.',
  unread_answer_seconds: 'How long a client can leave a response unread.',
  body_fields: 'Fields of all objects in a JSON body.',
  body_values: 'Object fields and array elements in a JSON body.',
  query_parameters: 'Parameters in a query, including the arguments of a command over a WebSocket. Above this, 400.',
  exec_body_bytes: 'Size of the body of `POST …/exec`.',
  backups_at_once: 'Backups being created at the same time, one per volume.',
  backup_increments: 'Incremental backups before the next full backup.',
  backup_part_bytes: 'Size of one part of a backup in the store.',
  event_keep_seconds: 'How long events are kept.',
  event_streams_at_once: 'Open event streams and event reads.',
  events_kept: 'Newest events kept. Above it, events of the projects with the most are dropped first.',
  audit_keep_seconds: 'How long audit log entries are kept.',
  audit_entries_kept: 'Newest audit log entries kept. Above it, entries of the tokens with the most are dropped first.',
  max_results: 'Resources on one page.',
  wait_seconds: 'Maximum `wait_seconds`.',
  idempotency_keep_seconds: 'How long the response to an `Idempotency-Key` is kept.',
  idempotency_bytes_kept:
    'Total size of these responses. Above it, the oldest of the tokens with the most are dropped first.',
  operation_keep_seconds: 'How long an operation can be read.',
  operations_kept: 'Operations kept. Above it, the oldest of the projects with the most are dropped first.',
  ended_token_keep_seconds: 'How long an ended token is listed.',
  ended_tokens_kept: 'Ended tokens listed. Above it, those of the tokens with the most are dropped first.',
  body_bytes: 'Size of a JSON body, unless another limit applies.',
} as const

/** One of the closed list of published bounds. */
export type LimitName = keyof typeof LIMIT_TEXTS

/** The bounds in force, by name. */
export const limitsSchema = z
  .looseObject(
    Object.fromEntries(
      Object.entries(LIMIT_TEXTS).map(([name, description]) => [name, z.number().meta({ description })]),
    ),
  )
  .partial()
  .meta({
    id: 'Limits',
    description:
      'Limits in force. If a `…_per_box` limit is half of its `…_at_once` limit, no box may hold more than what is free.',
  })
