import type { ErrorCode } from './errors.ts'

/** The meaning of each error code and the remedy for clients, for `/problems` and docs/api/errors.md. Uses the code marks of Markdown. */
export const PROBLEM_TEXTS = {
  invalid_request: [
    'The path, query, headers or body are invalid. `errors` lists each fault with its place.',
    'Correct the fields that `errors` names, and send the request again.',
  ],
  invalid_json: [
    'The body is not JSON in UTF-8, or exceeds a limit: 64 levels, 1,024 fields, 8,192 fields and elements. A field `__proto__` is not allowed.',
    'Send one well-formed JSON value.',
  ],
  environment_reserved: [
    'A variable in `environment` or `env` begins with `BOX_` or `BOXYARD_`. These names are reserved for the service.',
    'Rename the variable.',
  ],
  base_and_fork: ['The request for a box has both `base` and `fork`.', 'Send only one of them.'],
  path_invalid: [
    'The path is not allowed here. It leads out of the box, through a loop of links or onto another disk, is too long, is read-only, or belongs to the system.',
    'Choose another path. `detail` names the reason.',
  ],
  token_missing: [
    'The operation needs a token, and the request has none.',
    'Send `Authorization: Bearer <token>`, or a ticket if the operation accepts one.',
  ],
  token_invalid: [
    'The token, ticket or session does not belong to this deployment, is damaged, or was already used.',
    'Check that you copied the complete token of this deployment. For a ticket, create a new one.',
  ],
  token_expired: ['The token has expired.', 'Create a new token.'],
  token_revoked: ['The token, or the token that created it, was revoked.', 'Ask an administrator for a new token.'],
  permission_denied: [
    'The token is good but lacks the permission or the project, or would mint more than it has. At a URL of a box: a page of another origin asked.',
    'Use a token with what `detail` names.',
  ],
  nesting_not_allowed: [
    'The box asks for `config.nesting`, which the operator of the deployment does not allow.',
    'Leave it out, or set it to false; or have `BOXYARD_NESTING` set to true.',
  ],
  quota_exceeded: [
    'The quota of the project, or a bound of the deployment or its host, leaves no room for this.',
    'Stop or delete something, ask for less, or have the quota raised. Of storage, snapshots, bases and replaced disks count too.',
  ],
  route_not_found: [
    'No operation has this path, or this address does not serve it.',
    'Compare the path with `GET /openapi.json`.',
  ],
  box_not_found: [
    'The project has no box with this name, or the box was deleted during the request.',
    'List the boxes of the project. Each project has its own names.',
  ],
  base_not_found: [
    'No base of the project and no shared base has this name, or the base was deleted during the request.',
    'List the bases with `GET …/bases` and `GET /v1/bases`.',
  ],
  volume_not_found: [
    'The project has no data volume with this name, or a volume of the snapshot was deleted.',
    'List the volumes. If `detail` says so, restore with `include_data: false`.',
  ],
  snapshot_not_found: [
    'The box or volume has no snapshot with this name.',
    'List its snapshots. Boxyard deletes old automatic snapshots.',
  ],
  backup_not_found: [
    'The backup store has no backup with this id, or it was deleted.',
    'List the backups of the project.',
  ],
  service_not_found: ['The box has no service with this name.', 'List its services, or create the service with PUT.'],
  exec_not_found: [
    'The box has no record of this command.',
    'List its commands. Boxyard keeps only the latest ended commands (`exec_records_per_box`).',
  ],
  session_not_found: [
    'The box has no console session with this name, or the session has ended.',
    'List the sessions, or open a new one.',
  ],
  operation_not_found: [
    'No operation has this id, its record has expired, or it belongs to a project that the token cannot read.',
    'Read the resource. It shows the result of the operation.',
  ],
  token_not_found: ['No token has this id, or your token cannot read it.', 'List the tokens.'],
  file_not_found: ['This path does not exist.', 'Check the path. `GET …/files/list` lists a directory.'],
  method_not_allowed: ['The path does not support this method.', 'Use a method from the `Allow` header.'],
  name_taken: [
    'Another resource of this kind, or a file at this path, has the name.',
    'Choose another name, or read or replace what is there.',
  ],
  box_not_running: [
    'This needs a box that runs, and it does not.',
    'Resume the box first; its `state` says why it rests.',
  ],
  box_busy: [
    'Another change of the box is under way, such as a restore, and did not end in time. Or the box is in the way itself, as `detail` says.',
    'Try again when it is over. For a box in its own way, do what `detail` says.',
  ],
  volume_in_use: [
    'Boxes have the volume, and this would delete it, give it a second writer, or change it under them.',
    'Detach it there, stop that box, or attach it read-only.',
  ],
  volume_on_other_node: [
    'Boxes and their data volumes must be on one node, and these are on several.',
    'Make the box where the volume is, by naming it in `data_mounts`, or make a copy of the volume from a backup.',
  ],
  volume_busy: [
    'Processes have files open in the volume, another volume is mounted in it, or it is being backed up; nothing was changed.',
    'End what `detail` names, wait longer, or stop the box.',
  ],
  volume_too_small: ['The size asked for does not hold the data.', 'Ask for at least the size that `detail` tells.'],
  mount_path_taken: [
    'Another volume of the box is attached at this path, or below it, where it would be hidden.',
    'Choose another path, or detach that one.',
  ],
  not_attached: ['The volume is not attached to this box.', 'Read `attachments` of the volume.'],
  domain_taken: [
    'The domain belongs to another box or service of the deployment.',
    'Unpublish it there first, or choose another.',
  ],
  domain_unverified: [
    'The domain has no TXT record that proves that it is the project’s.',
    'Add the TXT record that `detail` names to the DNS of the domain, and publish again.',
  ],
  no_preview: ['The service has no preview to promote or discard.', 'Deploy one first.'],
  preview_not_ready: [
    'The version that should take over is not ready, or has failed; the active one goes on.',
    'Wait until it is ready, or read why in `preview.message` and deploy again.',
  ],
  nothing_to_roll_back: ['The service has no previous version.', 'Deploy the version that you want.'],
  backup_damaged: [
    'A part of the backup is missing from its store, was altered, or is signed with no key that this deployment has; nothing was restored.',
    'Restore another backup, and mend the store; or let the operator add the key of the deployment that made it.',
  ],
  port_not_listening: [
    'No program in the box listens at this port, on its loopback or at its own address.',
    'Start the program, or name the port where it listens; one that was just started may need a moment.',
  ],
  below_use: [
    'The size asked for is less than what is used; nothing was changed.',
    'Ask for more than `detail` tells, or free some first.',
  ],
  idempotency_in_progress: [
    'The first request with this `Idempotency-Key` has not been answered yet.',
    'Repeat the request after `Retry-After`: it gets the answer of the first.',
  ],
  directory_not_empty: ['The directory still holds something.', 'Empty it, or delete with `recursive=true`.'],
  not_a_directory: ['A parent in the path is not a directory.', 'Check the path.'],
  is_a_directory: ['A directory is at the path, and this takes a file.', 'Use the operations for lists or archives.'],
  cursor_expired: [
    'The events after this cursor are no longer kept.',
    'Request `since=now` and keep its `next_cursor`. Then read the resources again, and follow from that cursor.',
  ],
  precondition_failed: [
    '`If-Match` does not match the current version, or the path already exists for `If-None-Match: *`.',
    'Read the resource again, check that your change still applies, and send the new `ETag`.',
  ],
  body_too_large: [
    'The body, or what it unpacks to, is longer than the operation takes.',
    'Send less, or take a ticket (`POST …/tickets`) where the way there is too narrow, as through a function on AWS.',
  ],
  unsupported_media_type: [
    'The operation does not accept the content type of the body.',
    'Send the content type that `detail` names.',
  ],
  range_not_satisfiable: [
    'The range starts after the end of the file.',
    'Request a range within the size in `detail`.',
  ],
  misdirected_request: [
    'The service does not know the host name of the request, and the request has no valid token or ticket.',
    'Use `localhost`, an IP address or a configured name, or add the name to `BOXYARD_HOSTS`.',
  ],
  idempotency_key_reused: [
    'The `Idempotency-Key` was already used with another method, path, query or body.',
    'Create a new key for each new request.',
  ],
  upgrade_required: [
    'The operation needs a WebSocket, and the request has no upgrade, or this address does not support WebSockets.',
    'Send an upgrade request. Behind a function on AWS, use a ticket (`POST …/tickets`), because functions do not support WebSockets.',
  ],
  rate_limited: [
    'Too much was asked at once: requests of the token, or work that is bounded and shared out.',
    'Wait for `Retry-After` seconds, then try again.',
  ],
  headers_too_large: [
    'The head of a request to a URL of a box, including headers and cookies, exceeds 64 KiB.',
    'Send smaller headers. In a browser, delete the cookies of the site.',
  ],
  internal: [
    'The service failed unexpectedly, and logged the cause with the `request_id`.',
    'Retry with the same `Idempotency-Key`. If it fails again, send the request id to the operator.',
  ],
  port_unreachable: [
    'No program in the box answers at the port of this URL, or its response is not HTTP. `detail` names the cause.',
    'Start the program, or set `port` of the box to the port where it listens.',
  ],
  agent_protocol: [
    'The front does not understand the response of the agent, or the response is too long for a function.',
    'Ask the operator to compare keys, clocks and versions of front and agent. For a long response, use a ticket.',
  ],
  agent_unavailable: [
    'The agent is unreachable. Boxes keep running. A change in progress may have taken effect.',
    'Retry, and send a change with the same `Idempotency-Key`. The operator must start the agent.',
  ],
  draining: [
    'The agent is shutting down and accepts no new work. Boxes keep running.',
    'Retry after `Retry-After` seconds.',
  ],
  runtime_unavailable: [
    'The container runtime (host, cluster or their processes) cannot do this now.',
    'Retry later. `GET /healthz` shows the operator the cause.',
  ],
  agent_timeout: [
    'The agent did not answer in time. The request may still take effect.',
    'Read the resource, or repeat the request with its `Idempotency-Key`.',
  ],
  storage_full: [
    'The disk of the box, the storage pool, the host or the backup store is full.',
    'Delete data that you do not need, or ask the operator for more storage. Deletes always work.',
  ],
} as const satisfies Record<ErrorCode, readonly [meaning: string, remedy: string]>
