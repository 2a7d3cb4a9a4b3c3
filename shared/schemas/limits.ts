import * as z from 'zod'

/** The description of every bound that `GET /v1/config` publishes; the last words of a name are its unit. */
export const LIMIT_TEXTS = {
  requests_per_second: 'Requests a second of one token, with those minted with it; beyond, 429.',
  requests_burst: 'Requests of them at once.',
  tokens_per_root:
    'Live tokens of one that was minted on the host, or by an operator, with all that were minted with it.',
  tokens_per_operator: 'Live tokens that one token with `admin` for all projects has minted.',
  boxes_max: 'Boxes of the deployment.',
  volumes_max: 'Data volumes of the deployment.',
  definition_bytes: 'The environment of a box, or environment and commands of a service together, as JSON.',
  record_bytes:
    'The records of boxes and services together, as JSON; beyond, nothing that makes them longer, 403. A service counts as started.',
  record_bytes_per_project: 'The same of one project, where others have none.',
  snapshots_per_owner: 'Snapshots of one box or volume, automatic ones counted; only restores go beyond.',
  automatic_snapshots_per_owner: 'Automatic snapshots kept of one box or volume; older ones are deleted.',
  bases_per_project: 'Bases of a project; as many may be shared by all.',
  base_unpacked_bytes: 'What the archive of a base unpacks to.',
  base_uploads_at_once: 'Bases that are made of archives or images at once.',
  base_uploads_at_once_per_project: 'The same of one project, where others need none.',
  memory_overcommit: 'How many times the memory of the host may be promised to boxes that run.',
  memory_reserve_bytes: 'Memory of the host that must be available for a box to start.',
  pool_reserve_percent: 'Part of the pool that only projects which hold less than that can take.',
  starts_at_once:
    'Boxes that start at once, and as many commands, services and consoles; others wait. By default two for each processor, and at least 4.',
  snapshots_at_once: 'Snapshots that are made at once, disks of new boxes and volumes among them; others wait.',
  pids_per_box: 'Processes and threads of a box.',
  terminals_per_box: 'Pseudo-terminals of a box at once, those of its consoles and commands among them.',
  exec_output_bytes: 'The end of each stream that is told with a command.',
  exec_kept_bytes: 'The end of each stream that is kept.',
  exec_records_per_box: 'Ended commands that are remembered of a box.',
  exec_record_bytes_per_box: 'What those records and their output take up together.',
  execs_at_once: 'Commands that run at once.',
  execs_at_once_per_box: 'The same of one box, where others need none.',
  lingering_execs:
    'Ended commands whose streams stay open for processes that they left running, of those with `no_hup` and of all others each; beyond, the oldest of the boxes, projects and tokens that have most are closed.',
  connections_at_once: 'Connections that are open at once, of the front and of the data address each.',
  connections_at_once_per_address:
    'The same of one address (IPv6: of one /64), where others need none. A new one takes the place of one without a request.',
  edge_connections_at_once: 'Connections that are open at once at the edge, where URLs of boxes are answered.',
  edge_connections_at_once_per_address: 'The same of one address (IPv6: of one /64), where others need none.',
  edge_connections_per_second_per_address: 'New connections a second of one address at the edge, over ten seconds.',
  edge_decisions_per_second_per_address:
    'Requests a second of one address that the edge cannot decide by itself, over ten seconds; beyond, 429.',
  edge_grants_kept:
    'Sessions of browsers, and tokens, that the edge lets pass by itself; beyond, the oldest of the tokens that have most go first, each with those minted with it.',
  edge_grants_kept_per_token: 'The same of one token, and the oldest go first.',
  streams_at_once: 'WebSockets of commands and consoles that are open at once.',
  streams_at_once_per_box: 'The same of one box, where others need none.',
  websocket_messages_per_second:
    'Messages a second to WebSockets of one token, with those minted with it; who sends more is read more slowly.',
  port_connections_at_once: 'Connections to ports of boxes over WebSockets that are open at once.',
  port_connections_at_once_per_box: 'The same of one box, where others need none.',
  sessions_per_box: 'Console sessions of a box.',
  sessions_at_once: 'Console sessions in all.',
  services_per_box: 'Services of a box.',
  domains_per_box: 'Domains of a box or a service.',
  probes_per_second:
    'Looks at services for their readiness in all, by turns of projects; a command in the box counts for five. Beyond, they come later.',
  service_log_runs: 'Starts of a service whose log is kept.',
  log_streams_at_once: 'Logs that are followed as streams at once.',
  viewers_per_session: 'Clients at one console session.',
  session_kept_bytes: 'The end of its output that a console session replays.',
  tickets_at_once: 'Tickets that are open, or ended unused less than a minute ago.',
  ticket_keep_seconds: 'How long a ticket is good.',
  file_json_bytes: 'A file that is read as JSON.',
  file_write_json_bytes: 'The body that writes a file as JSON.',
  file_list_results: 'Entries of one page of a list of files.',
  file_transfers_per_box: 'Archives, large files, and lists and removals of trees at once, of one box.',
  file_transfers_at_once: 'The same of all boxes.',
  file_hole_bytes: 'Bytes of holes of a file that one answer carries; its archive leaves them out.',
  archive_file_pieces: 'Pieces of data between the holes of one file in an archive.',
  large_body_bytes_at_once: 'Bodies of more than 64 KiB in requests that are not answered yet, together.',
  large_body_bytes_at_once_per_box: 'The same of one box, where others need none.',
  unread_output_bytes_per_second:
    'Output that nobody reads as it comes, of all boxes together, in the agent and again of what has `no_hup`; others wait. A read counts for 16 KiB more than it brings.',
  unread_output_bytes_at_once_per_project: 'The same of one project before it has to wait.',
  read_output_bytes_at_once:
    'Bytes of every kind (output that clients read, files, archives, uploads, ports, bases, backups) that pass between other work, of all projects together, in the agent and again in the front; others wait. They have no bound over time.',
  unread_input_bytes_at_once: 'Input that commands with `no_hup` have not read yet, together.',
  unread_input_bytes_at_once_per_box: 'The same of one box, where others need none.',
  front_body_bytes_at_once:
    'Bodies of more than 16 KiB in requests that the front has not answered yet, together; a streamed one counts for 512 KiB.',
  front_body_bytes_at_once_per_project:
    'The same of one project, or of one source address without a token, where others need none.',
  front_requests_at_once:
    'Requests that the front has sent to the agent and that are not answered yet; as many whose answers may be long.',
  front_requests_at_once_per_project: 'The same of one project, where others need none; others wait for their turn.',
  front_ticket_body_bytes: 'A JSON body with a ticket at the front.',
  front_refusals_per_second_per_address:
    'Refusals a second at the front of one source address without a valid token; beyond 1,000 at once they wait, and become 429.',
  requests_ahead: 'Requests sent on one connection before earlier ones are answered; with more it is closed.',
  unread_answer_bytes: 'Answers that clients have not taken yet, of the front, the agent and the data address each.',
  unread_answer_bytes_per_address:
    'The same of one source address, or of one account of the agent, where others have none.',
  unread_answer_seconds: 'How long a client may take nothing of an answer.',
  body_fields: 'Fields of all objects in a JSON body.',
  body_values: 'Fields of objects and elements of arrays in a JSON body.',
  query_parameters: 'Parameters of a query, arguments of a command over a WebSocket among them; beyond, 400.',
  exec_body_bytes: 'The body of `POST …/exec`.',
  backups_at_once: 'Backups that are made at once, one of each volume.',
  backup_increments: 'Incremental backups before the next full one.',
  backup_part_bytes: 'One part of a backup in its store.',
  event_keep_seconds: 'How long events are kept.',
  event_streams_at_once: 'Event streams and reads of events that are open at once.',
  events_kept: 'Events that are kept, the newest; beyond, those of the projects that have most go first.',
  audit_keep_seconds: 'How long lines of the audit log are kept.',
  audit_entries_kept:
    'Lines of the audit log that are kept, the newest; beyond, those of the tokens that have most go first.',
  max_results: 'Resources of one page.',
  wait_seconds: 'The longest `wait_seconds`.',
  idempotency_keep_seconds: 'How long the answer to an `Idempotency-Key` is kept.',
  idempotency_bytes_kept: 'What those answers take up; beyond, the oldest of the tokens that have most go first.',
  operation_keep_seconds: 'How long an operation can be read.',
  operations_kept: 'Operations that are kept; beyond, the oldest of the projects that have most go first.',
  ended_token_keep_seconds: 'How long a token that has ended is listed.',
  ended_tokens_kept: 'Tokens that have ended and are listed; beyond, those of the tokens that have most go first.',
  body_bytes: 'A JSON body, where nothing else is said.',
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
      'Limits in force. Where a `…_per_box` is half of its `…_at_once`, no box may hold more than what is left free.',
  })
