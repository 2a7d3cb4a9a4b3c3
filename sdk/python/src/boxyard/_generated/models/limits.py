from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Limits")


@_attrs_define
class Limits:
    """Limits in force. If a `…_per_box` limit is half of its `…_at_once` limit, no box may hold more than what is free.

    Attributes:
        requests_per_second (float | Unset): Requests per second from one token, together with tokens created with it.
            Above this, 429.
        requests_burst (float | Unset): Requests from one token, with tokens created with it, in one burst.
        tokens_per_root (float | Unset): Live tokens in one family: a token created on the host or by an operator, and
            all tokens created with it.
        tokens_per_operator (float | Unset): Live tokens created by one token with `admin` for all projects.
        boxes_max (float | Unset): Boxes in the deployment.
        volumes_max (float | Unset): Data volumes in the deployment.
        definition_bytes (float | Unset): Size as JSON of the environment of a box, or of the environment and commands
            of a service together.
        record_bytes (float | Unset): Total size of all box and service records as JSON. Requests that would exceed it
            get 403. A service counts as if it were started.
        record_bytes_per_project (float | Unset): Same for one project, if no others compete.
        snapshots_per_owner (float | Unset): Snapshots of one box or volume, including automatic ones. Only restores can
            exceed it.
        automatic_snapshots_per_owner (float | Unset): Automatic snapshots kept for one box or volume. Older ones are
            deleted.
        bases_per_project (float | Unset): Bases in a project. The same number applies to shared bases.
        base_unpacked_bytes (float | Unset): Unpacked size of the archive of a base.
        base_uploads_at_once (float | Unset): Bases being created from archives or images at the same time.
        base_uploads_at_once_per_project (float | Unset): Same for one project, if no others compete.
        memory_overcommit (float | Unset): How many times running boxes can reserve the memory of the host.
        memory_reserve_bytes (float | Unset): Host memory that must be available for a box to start.
        pool_reserve_percent (float | Unset): Share of the pool reserved for projects that use less than that share.
        starts_at_once (float | Unset): Boxes starting at the same time, and as many commands, services and consoles.
            Others wait. Default: two per CPU, at least 4.
        snapshots_at_once (float | Unset): Snapshots being created at the same time, including disks of new boxes and
            volumes. Others wait.
        pids_per_box (float | Unset): Processes and threads in a box.
        terminals_per_box (float | Unset): Open pseudo-terminals in a box, including those of consoles and commands.
        exec_output_bytes (float | Unset): Output returned with a command, from the end of each stream.
        exec_kept_bytes (float | Unset): Output kept for a command, from the end of each stream.
        exec_records_per_box (float | Unset): Ended commands kept for a box.
        exec_record_bytes_per_box (float | Unset): Total size of these records and their output.
        execs_at_once (float | Unset): Commands running at the same time.
        execs_at_once_per_box (float | Unset): Same for one box, if no others compete.
        orphaned_execs (float | Unset): Ended commands with streams held open by processes they left running; separate
            limits with and without `no_hup`. Above it, the oldest of the boxes, projects and tokens with the most are
            closed.
        connections_at_once (float | Unset): Open connections, for the front and for the data address separately.
        connections_at_once_per_address (float | Unset): Same for one address (IPv6: one /64), if no others compete. A
            new connection replaces one without a request.
        edge_connections_at_once (float | Unset): Open connections at the edge, which serves box URLs.
        edge_connections_at_once_per_address (float | Unset): Same for one address (IPv6: one /64), if no others
            compete.
        edge_connections_per_second_per_address (float | Unset): New connections per second from one address at the
            edge, over 10 s.
        edge_decisions_per_second_per_address (float | Unset): Requests per second from one address that the agent
            decides, over 10 s. Above this, 429. Errors that the agent sends in place of a box have a counter of their own,
            with the same limit.
        edge_grants_kept (float | Unset): Browser sessions and tokens that the edge authorizes without asking the agent.
            Above it, the oldest of the tokens with the most are dropped, with tokens created with them.
        edge_grants_kept_per_token (float | Unset): Same for one token. Above it, its oldest are dropped.
        streams_at_once (float | Unset): Open WebSockets of commands and consoles.
        streams_at_once_per_box (float | Unset): Same for one box, if no others compete.
        websocket_messages_per_second (float | Unset): WebSocket messages per second from one token, with tokens created
            with it. Above this, the server reads more slowly.
        port_connections_at_once (float | Unset): Open connections to box ports over WebSockets.
        port_connections_at_once_per_box (float | Unset): Same for one box, if no others compete.
        sessions_per_box (float | Unset): Console sessions in a box.
        sessions_at_once (float | Unset): Console sessions in total.
        services_per_box (float | Unset): Services in a box.
        domains_per_box (float | Unset): Domains of a box or of a service.
        probes_per_second (float | Unset): Readiness probes per second in total, taken in turn by project. A command in
            a box counts as five. Above this, probes are delayed.
        service_log_runs (float | Unset): Starts of a service with a kept log.
        log_streams_at_once (float | Unset): Logs followed as streams at the same time.
        viewers_per_session (float | Unset): Clients attached to one console session.
        session_kept_bytes (float | Unset): Output that a console session replays, from its end.
        tickets_at_once (float | Unset): Open tickets, including those that expired unused less than a minute ago.
        ticket_keep_seconds (float | Unset): Lifetime of a ticket.
        file_json_bytes (float | Unset): Size of a file read as JSON.
        file_write_json_bytes (float | Unset): Size of the JSON body that writes a file.
        file_list_results (float | Unset): Entries on one page of a file list.
        file_transfers_per_box (float | Unset): Archives, large files, tree listings and tree removals of one box at the
            same time.
        file_transfers_at_once (float | Unset): Same for all boxes.
        file_hole_bytes (float | Unset): Bytes of holes that a response with a sparse file can carry. Its archive omits
            holes.
        archive_file_pieces (float | Unset): Pieces of data between the holes of one file in an archive.
        large_body_bytes_at_once (float | Unset): Total size of bodies over 64 KiB in requests without a response yet.
        large_body_bytes_at_once_per_box (float | Unset): Same for one box, if no others compete.
        unread_output_bytes_per_second (float | Unset): Unread output per second of all boxes, in the agent and again
            for commands with `no_hup`. Others wait. A read counts for its bytes plus 16 KiB.
        unread_output_bytes_at_once_per_project (float | Unset): Same for one project, before it has to wait.
        read_output_bytes_at_once (float | Unset): Bytes of all kinds (read output, files, archives, uploads, ports,
            bases, backups) in transit between other work, in the agent and again in the front. Covers all projects
            together. Others wait, and there is no limit over time.
        unread_input_bytes_at_once (float | Unset): Total input that commands with `no_hup` have not read yet.
        unread_input_bytes_at_once_per_box (float | Unset): Same for one box, if no others compete.
        front_body_bytes_at_once (float | Unset): Total size of bodies over 16 KiB in requests that the front has not
            answered yet. A streamed body counts as 512 KiB.
        front_body_bytes_at_once_per_project (float | Unset): Same for one project, or for one source address without a
            token, if no others compete.
        front_requests_at_once (float | Unset): Requests that the front has sent to the agent and that have no response
            yet. The same number applies to requests with long responses.
        front_requests_at_once_per_project (float | Unset): Same for one project, if no others compete. Other requests
            wait for their turn.
        front_ticket_body_bytes (float | Unset): Size of a JSON body with a ticket at the front.
        front_refusals_per_second_per_address (float | Unset): Refused requests per second at the front from one source
            address without a valid token. Above 1,000 at once, they wait and get 429.
        pipelined_requests (float | Unset): Pipelined requests on one connection. With more, the connection is closed.
        unread_answer_bytes (float | Unset): Responses that clients have not received yet, for the front, the agent and
            the data address separately.
        unread_answer_bytes_per_address (float | Unset): Same for one source address, or one account in the agent, if no
            others compete.
        unread_answer_seconds (float | Unset): How long a client can leave a response unread.
        body_fields (float | Unset): Fields of all objects in a JSON body.
        body_values (float | Unset): Object fields and array elements in a JSON body.
        query_parameters (float | Unset): Parameters in a query, including the arguments of a command over a WebSocket.
            Above this, 400.
        exec_body_bytes (float | Unset): Size of the body of `POST …/exec`.
        backups_at_once (float | Unset): Backups being created at the same time, one per volume.
        backup_increments (float | Unset): Incremental backups before the next full backup.
        backup_part_bytes (float | Unset): Size of one part of a backup in the store.
        event_keep_seconds (float | Unset): How long events are kept.
        event_streams_at_once (float | Unset): Open event streams and event reads.
        events_kept (float | Unset): Newest events kept. Above it, events of the projects with the most are dropped
            first.
        audit_keep_seconds (float | Unset): How long audit log entries are kept.
        audit_entries_kept (float | Unset): Newest audit log entries kept. Above it, entries of the tokens with the most
            are dropped first.
        max_results (float | Unset): Resources on one page.
        wait_seconds (float | Unset): Maximum `wait_seconds`.
        idempotency_keep_seconds (float | Unset): How long the response to an `Idempotency-Key` is kept.
        idempotency_bytes_kept (float | Unset): Total size of these responses. Above it, the oldest of the tokens with
            the most are dropped first.
        operation_keep_seconds (float | Unset): How long an operation can be read.
        operations_kept (float | Unset): Operations kept. Above it, the oldest of the projects with the most are dropped
            first.
        ended_token_keep_seconds (float | Unset): How long an ended token is listed.
        ended_tokens_kept (float | Unset): Ended tokens listed. Above it, those of the tokens with the most are dropped
            first.
        body_bytes (float | Unset): Size of a JSON body, unless another limit applies.
    """

    requests_per_second: float | Unset = UNSET
    requests_burst: float | Unset = UNSET
    tokens_per_root: float | Unset = UNSET
    tokens_per_operator: float | Unset = UNSET
    boxes_max: float | Unset = UNSET
    volumes_max: float | Unset = UNSET
    definition_bytes: float | Unset = UNSET
    record_bytes: float | Unset = UNSET
    record_bytes_per_project: float | Unset = UNSET
    snapshots_per_owner: float | Unset = UNSET
    automatic_snapshots_per_owner: float | Unset = UNSET
    bases_per_project: float | Unset = UNSET
    base_unpacked_bytes: float | Unset = UNSET
    base_uploads_at_once: float | Unset = UNSET
    base_uploads_at_once_per_project: float | Unset = UNSET
    memory_overcommit: float | Unset = UNSET
    memory_reserve_bytes: float | Unset = UNSET
    pool_reserve_percent: float | Unset = UNSET
    starts_at_once: float | Unset = UNSET
    snapshots_at_once: float | Unset = UNSET
    pids_per_box: float | Unset = UNSET
    terminals_per_box: float | Unset = UNSET
    exec_output_bytes: float | Unset = UNSET
    exec_kept_bytes: float | Unset = UNSET
    exec_records_per_box: float | Unset = UNSET
    exec_record_bytes_per_box: float | Unset = UNSET
    execs_at_once: float | Unset = UNSET
    execs_at_once_per_box: float | Unset = UNSET
    orphaned_execs: float | Unset = UNSET
    connections_at_once: float | Unset = UNSET
    connections_at_once_per_address: float | Unset = UNSET
    edge_connections_at_once: float | Unset = UNSET
    edge_connections_at_once_per_address: float | Unset = UNSET
    edge_connections_per_second_per_address: float | Unset = UNSET
    edge_decisions_per_second_per_address: float | Unset = UNSET
    edge_grants_kept: float | Unset = UNSET
    edge_grants_kept_per_token: float | Unset = UNSET
    streams_at_once: float | Unset = UNSET
    streams_at_once_per_box: float | Unset = UNSET
    websocket_messages_per_second: float | Unset = UNSET
    port_connections_at_once: float | Unset = UNSET
    port_connections_at_once_per_box: float | Unset = UNSET
    sessions_per_box: float | Unset = UNSET
    sessions_at_once: float | Unset = UNSET
    services_per_box: float | Unset = UNSET
    domains_per_box: float | Unset = UNSET
    probes_per_second: float | Unset = UNSET
    service_log_runs: float | Unset = UNSET
    log_streams_at_once: float | Unset = UNSET
    viewers_per_session: float | Unset = UNSET
    session_kept_bytes: float | Unset = UNSET
    tickets_at_once: float | Unset = UNSET
    ticket_keep_seconds: float | Unset = UNSET
    file_json_bytes: float | Unset = UNSET
    file_write_json_bytes: float | Unset = UNSET
    file_list_results: float | Unset = UNSET
    file_transfers_per_box: float | Unset = UNSET
    file_transfers_at_once: float | Unset = UNSET
    file_hole_bytes: float | Unset = UNSET
    archive_file_pieces: float | Unset = UNSET
    large_body_bytes_at_once: float | Unset = UNSET
    large_body_bytes_at_once_per_box: float | Unset = UNSET
    unread_output_bytes_per_second: float | Unset = UNSET
    unread_output_bytes_at_once_per_project: float | Unset = UNSET
    read_output_bytes_at_once: float | Unset = UNSET
    unread_input_bytes_at_once: float | Unset = UNSET
    unread_input_bytes_at_once_per_box: float | Unset = UNSET
    front_body_bytes_at_once: float | Unset = UNSET
    front_body_bytes_at_once_per_project: float | Unset = UNSET
    front_requests_at_once: float | Unset = UNSET
    front_requests_at_once_per_project: float | Unset = UNSET
    front_ticket_body_bytes: float | Unset = UNSET
    front_refusals_per_second_per_address: float | Unset = UNSET
    pipelined_requests: float | Unset = UNSET
    unread_answer_bytes: float | Unset = UNSET
    unread_answer_bytes_per_address: float | Unset = UNSET
    unread_answer_seconds: float | Unset = UNSET
    body_fields: float | Unset = UNSET
    body_values: float | Unset = UNSET
    query_parameters: float | Unset = UNSET
    exec_body_bytes: float | Unset = UNSET
    backups_at_once: float | Unset = UNSET
    backup_increments: float | Unset = UNSET
    backup_part_bytes: float | Unset = UNSET
    event_keep_seconds: float | Unset = UNSET
    event_streams_at_once: float | Unset = UNSET
    events_kept: float | Unset = UNSET
    audit_keep_seconds: float | Unset = UNSET
    audit_entries_kept: float | Unset = UNSET
    max_results: float | Unset = UNSET
    wait_seconds: float | Unset = UNSET
    idempotency_keep_seconds: float | Unset = UNSET
    idempotency_bytes_kept: float | Unset = UNSET
    operation_keep_seconds: float | Unset = UNSET
    operations_kept: float | Unset = UNSET
    ended_token_keep_seconds: float | Unset = UNSET
    ended_tokens_kept: float | Unset = UNSET
    body_bytes: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        requests_per_second = self.requests_per_second

        requests_burst = self.requests_burst

        tokens_per_root = self.tokens_per_root

        tokens_per_operator = self.tokens_per_operator

        boxes_max = self.boxes_max

        volumes_max = self.volumes_max

        definition_bytes = self.definition_bytes

        record_bytes = self.record_bytes

        record_bytes_per_project = self.record_bytes_per_project

        snapshots_per_owner = self.snapshots_per_owner

        automatic_snapshots_per_owner = self.automatic_snapshots_per_owner

        bases_per_project = self.bases_per_project

        base_unpacked_bytes = self.base_unpacked_bytes

        base_uploads_at_once = self.base_uploads_at_once

        base_uploads_at_once_per_project = self.base_uploads_at_once_per_project

        memory_overcommit = self.memory_overcommit

        memory_reserve_bytes = self.memory_reserve_bytes

        pool_reserve_percent = self.pool_reserve_percent

        starts_at_once = self.starts_at_once

        snapshots_at_once = self.snapshots_at_once

        pids_per_box = self.pids_per_box

        terminals_per_box = self.terminals_per_box

        exec_output_bytes = self.exec_output_bytes

        exec_kept_bytes = self.exec_kept_bytes

        exec_records_per_box = self.exec_records_per_box

        exec_record_bytes_per_box = self.exec_record_bytes_per_box

        execs_at_once = self.execs_at_once

        execs_at_once_per_box = self.execs_at_once_per_box

        orphaned_execs = self.orphaned_execs

        connections_at_once = self.connections_at_once

        connections_at_once_per_address = self.connections_at_once_per_address

        edge_connections_at_once = self.edge_connections_at_once

        edge_connections_at_once_per_address = self.edge_connections_at_once_per_address

        edge_connections_per_second_per_address = (
            self.edge_connections_per_second_per_address
        )

        edge_decisions_per_second_per_address = (
            self.edge_decisions_per_second_per_address
        )

        edge_grants_kept = self.edge_grants_kept

        edge_grants_kept_per_token = self.edge_grants_kept_per_token

        streams_at_once = self.streams_at_once

        streams_at_once_per_box = self.streams_at_once_per_box

        websocket_messages_per_second = self.websocket_messages_per_second

        port_connections_at_once = self.port_connections_at_once

        port_connections_at_once_per_box = self.port_connections_at_once_per_box

        sessions_per_box = self.sessions_per_box

        sessions_at_once = self.sessions_at_once

        services_per_box = self.services_per_box

        domains_per_box = self.domains_per_box

        probes_per_second = self.probes_per_second

        service_log_runs = self.service_log_runs

        log_streams_at_once = self.log_streams_at_once

        viewers_per_session = self.viewers_per_session

        session_kept_bytes = self.session_kept_bytes

        tickets_at_once = self.tickets_at_once

        ticket_keep_seconds = self.ticket_keep_seconds

        file_json_bytes = self.file_json_bytes

        file_write_json_bytes = self.file_write_json_bytes

        file_list_results = self.file_list_results

        file_transfers_per_box = self.file_transfers_per_box

        file_transfers_at_once = self.file_transfers_at_once

        file_hole_bytes = self.file_hole_bytes

        archive_file_pieces = self.archive_file_pieces

        large_body_bytes_at_once = self.large_body_bytes_at_once

        large_body_bytes_at_once_per_box = self.large_body_bytes_at_once_per_box

        unread_output_bytes_per_second = self.unread_output_bytes_per_second

        unread_output_bytes_at_once_per_project = (
            self.unread_output_bytes_at_once_per_project
        )

        read_output_bytes_at_once = self.read_output_bytes_at_once

        unread_input_bytes_at_once = self.unread_input_bytes_at_once

        unread_input_bytes_at_once_per_box = self.unread_input_bytes_at_once_per_box

        front_body_bytes_at_once = self.front_body_bytes_at_once

        front_body_bytes_at_once_per_project = self.front_body_bytes_at_once_per_project

        front_requests_at_once = self.front_requests_at_once

        front_requests_at_once_per_project = self.front_requests_at_once_per_project

        front_ticket_body_bytes = self.front_ticket_body_bytes

        front_refusals_per_second_per_address = (
            self.front_refusals_per_second_per_address
        )

        pipelined_requests = self.pipelined_requests

        unread_answer_bytes = self.unread_answer_bytes

        unread_answer_bytes_per_address = self.unread_answer_bytes_per_address

        unread_answer_seconds = self.unread_answer_seconds

        body_fields = self.body_fields

        body_values = self.body_values

        query_parameters = self.query_parameters

        exec_body_bytes = self.exec_body_bytes

        backups_at_once = self.backups_at_once

        backup_increments = self.backup_increments

        backup_part_bytes = self.backup_part_bytes

        event_keep_seconds = self.event_keep_seconds

        event_streams_at_once = self.event_streams_at_once

        events_kept = self.events_kept

        audit_keep_seconds = self.audit_keep_seconds

        audit_entries_kept = self.audit_entries_kept

        max_results = self.max_results

        wait_seconds = self.wait_seconds

        idempotency_keep_seconds = self.idempotency_keep_seconds

        idempotency_bytes_kept = self.idempotency_bytes_kept

        operation_keep_seconds = self.operation_keep_seconds

        operations_kept = self.operations_kept

        ended_token_keep_seconds = self.ended_token_keep_seconds

        ended_tokens_kept = self.ended_tokens_kept

        body_bytes = self.body_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if requests_per_second is not UNSET:
            field_dict["requests_per_second"] = requests_per_second
        if requests_burst is not UNSET:
            field_dict["requests_burst"] = requests_burst
        if tokens_per_root is not UNSET:
            field_dict["tokens_per_root"] = tokens_per_root
        if tokens_per_operator is not UNSET:
            field_dict["tokens_per_operator"] = tokens_per_operator
        if boxes_max is not UNSET:
            field_dict["boxes_max"] = boxes_max
        if volumes_max is not UNSET:
            field_dict["volumes_max"] = volumes_max
        if definition_bytes is not UNSET:
            field_dict["definition_bytes"] = definition_bytes
        if record_bytes is not UNSET:
            field_dict["record_bytes"] = record_bytes
        if record_bytes_per_project is not UNSET:
            field_dict["record_bytes_per_project"] = record_bytes_per_project
        if snapshots_per_owner is not UNSET:
            field_dict["snapshots_per_owner"] = snapshots_per_owner
        if automatic_snapshots_per_owner is not UNSET:
            field_dict["automatic_snapshots_per_owner"] = automatic_snapshots_per_owner
        if bases_per_project is not UNSET:
            field_dict["bases_per_project"] = bases_per_project
        if base_unpacked_bytes is not UNSET:
            field_dict["base_unpacked_bytes"] = base_unpacked_bytes
        if base_uploads_at_once is not UNSET:
            field_dict["base_uploads_at_once"] = base_uploads_at_once
        if base_uploads_at_once_per_project is not UNSET:
            field_dict["base_uploads_at_once_per_project"] = (
                base_uploads_at_once_per_project
            )
        if memory_overcommit is not UNSET:
            field_dict["memory_overcommit"] = memory_overcommit
        if memory_reserve_bytes is not UNSET:
            field_dict["memory_reserve_bytes"] = memory_reserve_bytes
        if pool_reserve_percent is not UNSET:
            field_dict["pool_reserve_percent"] = pool_reserve_percent
        if starts_at_once is not UNSET:
            field_dict["starts_at_once"] = starts_at_once
        if snapshots_at_once is not UNSET:
            field_dict["snapshots_at_once"] = snapshots_at_once
        if pids_per_box is not UNSET:
            field_dict["pids_per_box"] = pids_per_box
        if terminals_per_box is not UNSET:
            field_dict["terminals_per_box"] = terminals_per_box
        if exec_output_bytes is not UNSET:
            field_dict["exec_output_bytes"] = exec_output_bytes
        if exec_kept_bytes is not UNSET:
            field_dict["exec_kept_bytes"] = exec_kept_bytes
        if exec_records_per_box is not UNSET:
            field_dict["exec_records_per_box"] = exec_records_per_box
        if exec_record_bytes_per_box is not UNSET:
            field_dict["exec_record_bytes_per_box"] = exec_record_bytes_per_box
        if execs_at_once is not UNSET:
            field_dict["execs_at_once"] = execs_at_once
        if execs_at_once_per_box is not UNSET:
            field_dict["execs_at_once_per_box"] = execs_at_once_per_box
        if orphaned_execs is not UNSET:
            field_dict["orphaned_execs"] = orphaned_execs
        if connections_at_once is not UNSET:
            field_dict["connections_at_once"] = connections_at_once
        if connections_at_once_per_address is not UNSET:
            field_dict["connections_at_once_per_address"] = (
                connections_at_once_per_address
            )
        if edge_connections_at_once is not UNSET:
            field_dict["edge_connections_at_once"] = edge_connections_at_once
        if edge_connections_at_once_per_address is not UNSET:
            field_dict["edge_connections_at_once_per_address"] = (
                edge_connections_at_once_per_address
            )
        if edge_connections_per_second_per_address is not UNSET:
            field_dict["edge_connections_per_second_per_address"] = (
                edge_connections_per_second_per_address
            )
        if edge_decisions_per_second_per_address is not UNSET:
            field_dict["edge_decisions_per_second_per_address"] = (
                edge_decisions_per_second_per_address
            )
        if edge_grants_kept is not UNSET:
            field_dict["edge_grants_kept"] = edge_grants_kept
        if edge_grants_kept_per_token is not UNSET:
            field_dict["edge_grants_kept_per_token"] = edge_grants_kept_per_token
        if streams_at_once is not UNSET:
            field_dict["streams_at_once"] = streams_at_once
        if streams_at_once_per_box is not UNSET:
            field_dict["streams_at_once_per_box"] = streams_at_once_per_box
        if websocket_messages_per_second is not UNSET:
            field_dict["websocket_messages_per_second"] = websocket_messages_per_second
        if port_connections_at_once is not UNSET:
            field_dict["port_connections_at_once"] = port_connections_at_once
        if port_connections_at_once_per_box is not UNSET:
            field_dict["port_connections_at_once_per_box"] = (
                port_connections_at_once_per_box
            )
        if sessions_per_box is not UNSET:
            field_dict["sessions_per_box"] = sessions_per_box
        if sessions_at_once is not UNSET:
            field_dict["sessions_at_once"] = sessions_at_once
        if services_per_box is not UNSET:
            field_dict["services_per_box"] = services_per_box
        if domains_per_box is not UNSET:
            field_dict["domains_per_box"] = domains_per_box
        if probes_per_second is not UNSET:
            field_dict["probes_per_second"] = probes_per_second
        if service_log_runs is not UNSET:
            field_dict["service_log_runs"] = service_log_runs
        if log_streams_at_once is not UNSET:
            field_dict["log_streams_at_once"] = log_streams_at_once
        if viewers_per_session is not UNSET:
            field_dict["viewers_per_session"] = viewers_per_session
        if session_kept_bytes is not UNSET:
            field_dict["session_kept_bytes"] = session_kept_bytes
        if tickets_at_once is not UNSET:
            field_dict["tickets_at_once"] = tickets_at_once
        if ticket_keep_seconds is not UNSET:
            field_dict["ticket_keep_seconds"] = ticket_keep_seconds
        if file_json_bytes is not UNSET:
            field_dict["file_json_bytes"] = file_json_bytes
        if file_write_json_bytes is not UNSET:
            field_dict["file_write_json_bytes"] = file_write_json_bytes
        if file_list_results is not UNSET:
            field_dict["file_list_results"] = file_list_results
        if file_transfers_per_box is not UNSET:
            field_dict["file_transfers_per_box"] = file_transfers_per_box
        if file_transfers_at_once is not UNSET:
            field_dict["file_transfers_at_once"] = file_transfers_at_once
        if file_hole_bytes is not UNSET:
            field_dict["file_hole_bytes"] = file_hole_bytes
        if archive_file_pieces is not UNSET:
            field_dict["archive_file_pieces"] = archive_file_pieces
        if large_body_bytes_at_once is not UNSET:
            field_dict["large_body_bytes_at_once"] = large_body_bytes_at_once
        if large_body_bytes_at_once_per_box is not UNSET:
            field_dict["large_body_bytes_at_once_per_box"] = (
                large_body_bytes_at_once_per_box
            )
        if unread_output_bytes_per_second is not UNSET:
            field_dict["unread_output_bytes_per_second"] = (
                unread_output_bytes_per_second
            )
        if unread_output_bytes_at_once_per_project is not UNSET:
            field_dict["unread_output_bytes_at_once_per_project"] = (
                unread_output_bytes_at_once_per_project
            )
        if read_output_bytes_at_once is not UNSET:
            field_dict["read_output_bytes_at_once"] = read_output_bytes_at_once
        if unread_input_bytes_at_once is not UNSET:
            field_dict["unread_input_bytes_at_once"] = unread_input_bytes_at_once
        if unread_input_bytes_at_once_per_box is not UNSET:
            field_dict["unread_input_bytes_at_once_per_box"] = (
                unread_input_bytes_at_once_per_box
            )
        if front_body_bytes_at_once is not UNSET:
            field_dict["front_body_bytes_at_once"] = front_body_bytes_at_once
        if front_body_bytes_at_once_per_project is not UNSET:
            field_dict["front_body_bytes_at_once_per_project"] = (
                front_body_bytes_at_once_per_project
            )
        if front_requests_at_once is not UNSET:
            field_dict["front_requests_at_once"] = front_requests_at_once
        if front_requests_at_once_per_project is not UNSET:
            field_dict["front_requests_at_once_per_project"] = (
                front_requests_at_once_per_project
            )
        if front_ticket_body_bytes is not UNSET:
            field_dict["front_ticket_body_bytes"] = front_ticket_body_bytes
        if front_refusals_per_second_per_address is not UNSET:
            field_dict["front_refusals_per_second_per_address"] = (
                front_refusals_per_second_per_address
            )
        if pipelined_requests is not UNSET:
            field_dict["pipelined_requests"] = pipelined_requests
        if unread_answer_bytes is not UNSET:
            field_dict["unread_answer_bytes"] = unread_answer_bytes
        if unread_answer_bytes_per_address is not UNSET:
            field_dict["unread_answer_bytes_per_address"] = (
                unread_answer_bytes_per_address
            )
        if unread_answer_seconds is not UNSET:
            field_dict["unread_answer_seconds"] = unread_answer_seconds
        if body_fields is not UNSET:
            field_dict["body_fields"] = body_fields
        if body_values is not UNSET:
            field_dict["body_values"] = body_values
        if query_parameters is not UNSET:
            field_dict["query_parameters"] = query_parameters
        if exec_body_bytes is not UNSET:
            field_dict["exec_body_bytes"] = exec_body_bytes
        if backups_at_once is not UNSET:
            field_dict["backups_at_once"] = backups_at_once
        if backup_increments is not UNSET:
            field_dict["backup_increments"] = backup_increments
        if backup_part_bytes is not UNSET:
            field_dict["backup_part_bytes"] = backup_part_bytes
        if event_keep_seconds is not UNSET:
            field_dict["event_keep_seconds"] = event_keep_seconds
        if event_streams_at_once is not UNSET:
            field_dict["event_streams_at_once"] = event_streams_at_once
        if events_kept is not UNSET:
            field_dict["events_kept"] = events_kept
        if audit_keep_seconds is not UNSET:
            field_dict["audit_keep_seconds"] = audit_keep_seconds
        if audit_entries_kept is not UNSET:
            field_dict["audit_entries_kept"] = audit_entries_kept
        if max_results is not UNSET:
            field_dict["max_results"] = max_results
        if wait_seconds is not UNSET:
            field_dict["wait_seconds"] = wait_seconds
        if idempotency_keep_seconds is not UNSET:
            field_dict["idempotency_keep_seconds"] = idempotency_keep_seconds
        if idempotency_bytes_kept is not UNSET:
            field_dict["idempotency_bytes_kept"] = idempotency_bytes_kept
        if operation_keep_seconds is not UNSET:
            field_dict["operation_keep_seconds"] = operation_keep_seconds
        if operations_kept is not UNSET:
            field_dict["operations_kept"] = operations_kept
        if ended_token_keep_seconds is not UNSET:
            field_dict["ended_token_keep_seconds"] = ended_token_keep_seconds
        if ended_tokens_kept is not UNSET:
            field_dict["ended_tokens_kept"] = ended_tokens_kept
        if body_bytes is not UNSET:
            field_dict["body_bytes"] = body_bytes

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        requests_per_second = d.pop("requests_per_second", UNSET)

        requests_burst = d.pop("requests_burst", UNSET)

        tokens_per_root = d.pop("tokens_per_root", UNSET)

        tokens_per_operator = d.pop("tokens_per_operator", UNSET)

        boxes_max = d.pop("boxes_max", UNSET)

        volumes_max = d.pop("volumes_max", UNSET)

        definition_bytes = d.pop("definition_bytes", UNSET)

        record_bytes = d.pop("record_bytes", UNSET)

        record_bytes_per_project = d.pop("record_bytes_per_project", UNSET)

        snapshots_per_owner = d.pop("snapshots_per_owner", UNSET)

        automatic_snapshots_per_owner = d.pop("automatic_snapshots_per_owner", UNSET)

        bases_per_project = d.pop("bases_per_project", UNSET)

        base_unpacked_bytes = d.pop("base_unpacked_bytes", UNSET)

        base_uploads_at_once = d.pop("base_uploads_at_once", UNSET)

        base_uploads_at_once_per_project = d.pop(
            "base_uploads_at_once_per_project", UNSET
        )

        memory_overcommit = d.pop("memory_overcommit", UNSET)

        memory_reserve_bytes = d.pop("memory_reserve_bytes", UNSET)

        pool_reserve_percent = d.pop("pool_reserve_percent", UNSET)

        starts_at_once = d.pop("starts_at_once", UNSET)

        snapshots_at_once = d.pop("snapshots_at_once", UNSET)

        pids_per_box = d.pop("pids_per_box", UNSET)

        terminals_per_box = d.pop("terminals_per_box", UNSET)

        exec_output_bytes = d.pop("exec_output_bytes", UNSET)

        exec_kept_bytes = d.pop("exec_kept_bytes", UNSET)

        exec_records_per_box = d.pop("exec_records_per_box", UNSET)

        exec_record_bytes_per_box = d.pop("exec_record_bytes_per_box", UNSET)

        execs_at_once = d.pop("execs_at_once", UNSET)

        execs_at_once_per_box = d.pop("execs_at_once_per_box", UNSET)

        orphaned_execs = d.pop("orphaned_execs", UNSET)

        connections_at_once = d.pop("connections_at_once", UNSET)

        connections_at_once_per_address = d.pop(
            "connections_at_once_per_address", UNSET
        )

        edge_connections_at_once = d.pop("edge_connections_at_once", UNSET)

        edge_connections_at_once_per_address = d.pop(
            "edge_connections_at_once_per_address", UNSET
        )

        edge_connections_per_second_per_address = d.pop(
            "edge_connections_per_second_per_address", UNSET
        )

        edge_decisions_per_second_per_address = d.pop(
            "edge_decisions_per_second_per_address", UNSET
        )

        edge_grants_kept = d.pop("edge_grants_kept", UNSET)

        edge_grants_kept_per_token = d.pop("edge_grants_kept_per_token", UNSET)

        streams_at_once = d.pop("streams_at_once", UNSET)

        streams_at_once_per_box = d.pop("streams_at_once_per_box", UNSET)

        websocket_messages_per_second = d.pop("websocket_messages_per_second", UNSET)

        port_connections_at_once = d.pop("port_connections_at_once", UNSET)

        port_connections_at_once_per_box = d.pop(
            "port_connections_at_once_per_box", UNSET
        )

        sessions_per_box = d.pop("sessions_per_box", UNSET)

        sessions_at_once = d.pop("sessions_at_once", UNSET)

        services_per_box = d.pop("services_per_box", UNSET)

        domains_per_box = d.pop("domains_per_box", UNSET)

        probes_per_second = d.pop("probes_per_second", UNSET)

        service_log_runs = d.pop("service_log_runs", UNSET)

        log_streams_at_once = d.pop("log_streams_at_once", UNSET)

        viewers_per_session = d.pop("viewers_per_session", UNSET)

        session_kept_bytes = d.pop("session_kept_bytes", UNSET)

        tickets_at_once = d.pop("tickets_at_once", UNSET)

        ticket_keep_seconds = d.pop("ticket_keep_seconds", UNSET)

        file_json_bytes = d.pop("file_json_bytes", UNSET)

        file_write_json_bytes = d.pop("file_write_json_bytes", UNSET)

        file_list_results = d.pop("file_list_results", UNSET)

        file_transfers_per_box = d.pop("file_transfers_per_box", UNSET)

        file_transfers_at_once = d.pop("file_transfers_at_once", UNSET)

        file_hole_bytes = d.pop("file_hole_bytes", UNSET)

        archive_file_pieces = d.pop("archive_file_pieces", UNSET)

        large_body_bytes_at_once = d.pop("large_body_bytes_at_once", UNSET)

        large_body_bytes_at_once_per_box = d.pop(
            "large_body_bytes_at_once_per_box", UNSET
        )

        unread_output_bytes_per_second = d.pop("unread_output_bytes_per_second", UNSET)

        unread_output_bytes_at_once_per_project = d.pop(
            "unread_output_bytes_at_once_per_project", UNSET
        )

        read_output_bytes_at_once = d.pop("read_output_bytes_at_once", UNSET)

        unread_input_bytes_at_once = d.pop("unread_input_bytes_at_once", UNSET)

        unread_input_bytes_at_once_per_box = d.pop(
            "unread_input_bytes_at_once_per_box", UNSET
        )

        front_body_bytes_at_once = d.pop("front_body_bytes_at_once", UNSET)

        front_body_bytes_at_once_per_project = d.pop(
            "front_body_bytes_at_once_per_project", UNSET
        )

        front_requests_at_once = d.pop("front_requests_at_once", UNSET)

        front_requests_at_once_per_project = d.pop(
            "front_requests_at_once_per_project", UNSET
        )

        front_ticket_body_bytes = d.pop("front_ticket_body_bytes", UNSET)

        front_refusals_per_second_per_address = d.pop(
            "front_refusals_per_second_per_address", UNSET
        )

        pipelined_requests = d.pop("pipelined_requests", UNSET)

        unread_answer_bytes = d.pop("unread_answer_bytes", UNSET)

        unread_answer_bytes_per_address = d.pop(
            "unread_answer_bytes_per_address", UNSET
        )

        unread_answer_seconds = d.pop("unread_answer_seconds", UNSET)

        body_fields = d.pop("body_fields", UNSET)

        body_values = d.pop("body_values", UNSET)

        query_parameters = d.pop("query_parameters", UNSET)

        exec_body_bytes = d.pop("exec_body_bytes", UNSET)

        backups_at_once = d.pop("backups_at_once", UNSET)

        backup_increments = d.pop("backup_increments", UNSET)

        backup_part_bytes = d.pop("backup_part_bytes", UNSET)

        event_keep_seconds = d.pop("event_keep_seconds", UNSET)

        event_streams_at_once = d.pop("event_streams_at_once", UNSET)

        events_kept = d.pop("events_kept", UNSET)

        audit_keep_seconds = d.pop("audit_keep_seconds", UNSET)

        audit_entries_kept = d.pop("audit_entries_kept", UNSET)

        max_results = d.pop("max_results", UNSET)

        wait_seconds = d.pop("wait_seconds", UNSET)

        idempotency_keep_seconds = d.pop("idempotency_keep_seconds", UNSET)

        idempotency_bytes_kept = d.pop("idempotency_bytes_kept", UNSET)

        operation_keep_seconds = d.pop("operation_keep_seconds", UNSET)

        operations_kept = d.pop("operations_kept", UNSET)

        ended_token_keep_seconds = d.pop("ended_token_keep_seconds", UNSET)

        ended_tokens_kept = d.pop("ended_tokens_kept", UNSET)

        body_bytes = d.pop("body_bytes", UNSET)

        limits = cls(
            requests_per_second=requests_per_second,
            requests_burst=requests_burst,
            tokens_per_root=tokens_per_root,
            tokens_per_operator=tokens_per_operator,
            boxes_max=boxes_max,
            volumes_max=volumes_max,
            definition_bytes=definition_bytes,
            record_bytes=record_bytes,
            record_bytes_per_project=record_bytes_per_project,
            snapshots_per_owner=snapshots_per_owner,
            automatic_snapshots_per_owner=automatic_snapshots_per_owner,
            bases_per_project=bases_per_project,
            base_unpacked_bytes=base_unpacked_bytes,
            base_uploads_at_once=base_uploads_at_once,
            base_uploads_at_once_per_project=base_uploads_at_once_per_project,
            memory_overcommit=memory_overcommit,
            memory_reserve_bytes=memory_reserve_bytes,
            pool_reserve_percent=pool_reserve_percent,
            starts_at_once=starts_at_once,
            snapshots_at_once=snapshots_at_once,
            pids_per_box=pids_per_box,
            terminals_per_box=terminals_per_box,
            exec_output_bytes=exec_output_bytes,
            exec_kept_bytes=exec_kept_bytes,
            exec_records_per_box=exec_records_per_box,
            exec_record_bytes_per_box=exec_record_bytes_per_box,
            execs_at_once=execs_at_once,
            execs_at_once_per_box=execs_at_once_per_box,
            orphaned_execs=orphaned_execs,
            connections_at_once=connections_at_once,
            connections_at_once_per_address=connections_at_once_per_address,
            edge_connections_at_once=edge_connections_at_once,
            edge_connections_at_once_per_address=edge_connections_at_once_per_address,
            edge_connections_per_second_per_address=edge_connections_per_second_per_address,
            edge_decisions_per_second_per_address=edge_decisions_per_second_per_address,
            edge_grants_kept=edge_grants_kept,
            edge_grants_kept_per_token=edge_grants_kept_per_token,
            streams_at_once=streams_at_once,
            streams_at_once_per_box=streams_at_once_per_box,
            websocket_messages_per_second=websocket_messages_per_second,
            port_connections_at_once=port_connections_at_once,
            port_connections_at_once_per_box=port_connections_at_once_per_box,
            sessions_per_box=sessions_per_box,
            sessions_at_once=sessions_at_once,
            services_per_box=services_per_box,
            domains_per_box=domains_per_box,
            probes_per_second=probes_per_second,
            service_log_runs=service_log_runs,
            log_streams_at_once=log_streams_at_once,
            viewers_per_session=viewers_per_session,
            session_kept_bytes=session_kept_bytes,
            tickets_at_once=tickets_at_once,
            ticket_keep_seconds=ticket_keep_seconds,
            file_json_bytes=file_json_bytes,
            file_write_json_bytes=file_write_json_bytes,
            file_list_results=file_list_results,
            file_transfers_per_box=file_transfers_per_box,
            file_transfers_at_once=file_transfers_at_once,
            file_hole_bytes=file_hole_bytes,
            archive_file_pieces=archive_file_pieces,
            large_body_bytes_at_once=large_body_bytes_at_once,
            large_body_bytes_at_once_per_box=large_body_bytes_at_once_per_box,
            unread_output_bytes_per_second=unread_output_bytes_per_second,
            unread_output_bytes_at_once_per_project=unread_output_bytes_at_once_per_project,
            read_output_bytes_at_once=read_output_bytes_at_once,
            unread_input_bytes_at_once=unread_input_bytes_at_once,
            unread_input_bytes_at_once_per_box=unread_input_bytes_at_once_per_box,
            front_body_bytes_at_once=front_body_bytes_at_once,
            front_body_bytes_at_once_per_project=front_body_bytes_at_once_per_project,
            front_requests_at_once=front_requests_at_once,
            front_requests_at_once_per_project=front_requests_at_once_per_project,
            front_ticket_body_bytes=front_ticket_body_bytes,
            front_refusals_per_second_per_address=front_refusals_per_second_per_address,
            pipelined_requests=pipelined_requests,
            unread_answer_bytes=unread_answer_bytes,
            unread_answer_bytes_per_address=unread_answer_bytes_per_address,
            unread_answer_seconds=unread_answer_seconds,
            body_fields=body_fields,
            body_values=body_values,
            query_parameters=query_parameters,
            exec_body_bytes=exec_body_bytes,
            backups_at_once=backups_at_once,
            backup_increments=backup_increments,
            backup_part_bytes=backup_part_bytes,
            event_keep_seconds=event_keep_seconds,
            event_streams_at_once=event_streams_at_once,
            events_kept=events_kept,
            audit_keep_seconds=audit_keep_seconds,
            audit_entries_kept=audit_entries_kept,
            max_results=max_results,
            wait_seconds=wait_seconds,
            idempotency_keep_seconds=idempotency_keep_seconds,
            idempotency_bytes_kept=idempotency_bytes_kept,
            operation_keep_seconds=operation_keep_seconds,
            operations_kept=operations_kept,
            ended_token_keep_seconds=ended_token_keep_seconds,
            ended_tokens_kept=ended_tokens_kept,
            body_bytes=body_bytes,
        )

        limits.additional_properties = d
        return limits

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
