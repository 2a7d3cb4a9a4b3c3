import type { ErrorCode } from './errors.ts'

/** The meaning of each error code and the remedy for clients, for `/problems` and docs/api/errors.md; Markdown code marks. */
export const PROBLEM_TEXTS = {
  invalid_request: [
    'The path, query, headers or body do not match what the operation takes; `errors` points at each fault.',
    'Correct the fields that `errors` names, and send the request again.',
  ],
  invalid_json: [
    'The body is not JSON in UTF-8, is nested deeper than 64 levels, has more than 1,024 fields or 8,192 fields and elements, or holds a field named `__proto__`.',
    'Send one well-formed JSON value.',
  ],
  environment_reserved: [
    'A variable in `environment` or `env` begins with `BOX_` or `BOXYARD_`, which the service sets itself.',
    'Rename the variable.',
  ],
  base_and_fork: ['A box was asked for with both `base` and `fork`.', 'Give one of them.'],
  path_invalid: [
    'A path cannot be used for this: it leads out of the box, through a circle of links or onto another disk, is too long, is read-only, or is kept by the system.',
    'Choose a path that `detail` does not rule out.',
  ],
  token_missing: [
    'The operation needs a token, and the request has none.',
    'Send `Authorization: Bearer <token>`, or a ticket where the operation takes one.',
  ],
  token_invalid: [
    'The token, ticket or session is not one of this deployment, is damaged, or was used up.',
    'Check that the whole token was copied and belongs to this deployment; ask for another ticket.',
  ],
  token_expired: ['The life of the token is over.', 'Mint another.'],
  token_revoked: ['The token, or one that it was minted with, was revoked.', 'Ask an administrator for another.'],
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
    'No operation has this path, or it is not served at this address.',
    'Compare the path with `GET /openapi.json`.',
  ],
  box_not_found: [
    'The project has no box of this name, or it was deleted meanwhile.',
    'List the boxes of the project; names are per project.',
  ],
  base_not_found: [
    'Neither the project nor the shared bases have this name, or the base was deleted meanwhile.',
    'List the bases with `GET …/bases` and `GET /v1/bases`.',
  ],
  volume_not_found: [
    'The project has no data volume of this name, or one that a snapshot holds was deleted.',
    'List the volumes; restore with `include_data: false` where `detail` says so.',
  ],
  snapshot_not_found: [
    'The box or volume has no snapshot of this name.',
    'List its snapshots; automatic ones are pruned.',
  ],
  backup_not_found: [
    'No backup of this id is in the backup store, or it was deleted.',
    'List the backups of the project.',
  ],
  service_not_found: ['The box has no service of this name.', 'List its services, or define it with PUT.'],
  exec_not_found: [
    'The box has no record of this command.',
    'List its commands; only the latest ended ones are kept (`exec_records_per_box`).',
  ],
  session_not_found: [
    'The box has no console session of this name, or it has ended.',
    'List the sessions, or open another.',
  ],
  operation_not_found: [
    'No operation has this id, its time is over, or it belongs to a project of others.',
    'Read the resource itself: it tells how the mutation ended.',
  ],
  token_not_found: ['No token has this id, or it is not yours to see.', 'List the tokens.'],
  file_not_found: ['Nothing is at this path.', 'Check the path; `GET …/files/list` shows a directory.'],
  method_not_allowed: ['The path exists, but not with this method.', 'Use a method that the `Allow` header names.'],
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
  not_a_directory: ['A part of the path is no directory.', 'Check the path.'],
  is_a_directory: ['A directory is at the path, and this takes a file.', 'Use the operations for lists or archives.'],
  cursor_expired: [
    'The events after this cursor are no longer kept.',
    'Take `next_cursor` of `since=now`, read the resources anew, then follow from that cursor.',
  ],
  precondition_failed: [
    '`If-Match` names another version than the present one, or `If-None-Match: *` found something.',
    'Read the resource again, and decide anew with its `ETag`.',
  ],
  body_too_large: [
    'The body, or what it unpacks to, is longer than the operation takes.',
    'Send less, or take a ticket (`POST …/tickets`) where the way there is too narrow, as through a function on AWS.',
  ],
  unsupported_media_type: [
    'The body is of a type that the operation does not take.',
    'Send the type that `detail` names.',
  ],
  range_not_satisfiable: ['The range lies after the end of the file.', 'Ask within the size that `detail` tells.'],
  misdirected_request: [
    'The request names a host that is not known to be of this service, and shows no valid token or ticket.',
    'Use `localhost`, an IP address or a configured name, or add the name to `BOXYARD_HOSTS`.',
  ],
  idempotency_key_reused: [
    'The `Idempotency-Key` was used for another method, path, query or body.',
    'Make another key for each new request.',
  ],
  upgrade_required: [
    'The operation is a WebSocket, and the request asks for none, or cannot get one here.',
    'Ask for an upgrade; through a function on AWS, which carries none, take a ticket (`POST …/tickets`).',
  ],
  rate_limited: [
    'Too much was asked at once: requests of the token, or work that is bounded and shared out.',
    'Wait for `Retry-After` seconds, then try again.',
  ],
  headers_too_large: [
    'The head of a request to a URL of a box, its headers and cookies included, is larger than 64 KiB.',
    'Send less in headers; in a browser, delete the cookies of the site.',
  ],
  internal: [
    'The service failed for a reason of its own, which is logged under `request_id`.',
    'Try again with the same `Idempotency-Key`; else tell the operator the request id.',
  ],
  port_unreachable: [
    'Nothing in the box answers on the port behind this URL, or its server does not answer over HTTP. `detail` says which.',
    'Start the program, or set `port` of the box to where it listens.',
  ],
  agent_protocol: [
    'The front and the agent do not understand each other, or an answer is too long for a function.',
    'Tell the operator: keys, clocks or versions of the two differ. For long answers use a ticket.',
  ],
  agent_unavailable: [
    'The agent cannot be reached; boxes go on running. A mutation that was under way may have happened.',
    'Try again, a mutation with its `Idempotency-Key`; the operator starts the agent.',
  ],
  draining: [
    'The agent is being stopped and takes no new work; boxes go on running.',
    'Try again after `Retry-After`.',
  ],
  runtime_unavailable: [
    'The runtime of the boxes (host, cluster or their processes) cannot do this now.',
    'Try again; `GET /healthz` tells the operator what is wrong.',
  ],
  agent_timeout: [
    'The agent did not answer in time; what was asked may still happen.',
    'Read the resource, or repeat the request with its `Idempotency-Key`.',
  ],
  storage_full: [
    'The disk of the box, the pool, its host or the backup store has no room left.',
    'Delete what is not needed, or have the storage grown; deletes are always taken.',
  ],
} as const satisfies Record<ErrorCode, readonly [meaning: string, remedy: string]>
