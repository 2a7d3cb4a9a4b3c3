from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AuditEntry")


@_attrs_define
class AuditEntry:
    """
    Attributes:
        ts (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        operation (None | str): `operationId` of the operation. Null if the request matched none.
        method (str):
        target (str): Path and query, without a ticket. For a WebSocket, without the query.
        project (None | str): Project in the path. Null if there is none.
        actor (None | str): Token that sent the request. Null if there was none, or an invalid one.
        actor_name (None | str): Name of the token, or null.
        client_address (str): Network address of the client, or of the proxy in front of the service.
        request_id (str):
        duration_ms (int): Milliseconds until the response.
        status (int): HTTP status of the response.
        code (None | str): Error code if the request was refused. Null otherwise.
        command (list[str] | None | Unset): For `createExec`, `streamExec` and `openConsole`, the first 1,024 bytes of
            program and arguments, never variables or input. Null for other requests, for a console that joined a session,
            for a request refused before its command was read, and with `BOXYARD_AUDIT_COMMANDS=false`.
        command_truncated (bool | Unset): Whether the end of `command` is missing.
    """

    ts: datetime.datetime
    operation: None | str
    method: str
    target: str
    project: None | str
    actor: None | str
    actor_name: None | str
    client_address: str
    request_id: str
    duration_ms: int
    status: int
    code: None | str
    command: list[str] | None | Unset = UNSET
    command_truncated: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ts = self.ts.isoformat()

        operation: None | str
        operation = self.operation

        method = self.method

        target = self.target

        project: None | str
        project = self.project

        actor: None | str
        actor = self.actor

        actor_name: None | str
        actor_name = self.actor_name

        client_address = self.client_address

        request_id = self.request_id

        duration_ms = self.duration_ms

        status = self.status

        code: None | str
        code = self.code

        command: list[str] | None | Unset
        if isinstance(self.command, Unset):
            command = UNSET
        elif isinstance(self.command, list):
            command = self.command

        else:
            command = self.command

        command_truncated = self.command_truncated

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ts": ts,
                "operation": operation,
                "method": method,
                "target": target,
                "project": project,
                "actor": actor,
                "actor_name": actor_name,
                "client_address": client_address,
                "request_id": request_id,
                "duration_ms": duration_ms,
                "status": status,
                "code": code,
            }
        )
        if command is not UNSET:
            field_dict["command"] = command
        if command_truncated is not UNSET:
            field_dict["command_truncated"] = command_truncated

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        ts = datetime.datetime.fromisoformat(d.pop("ts"))

        def _parse_operation(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        operation = _parse_operation(d.pop("operation"))

        method = d.pop("method")

        target = d.pop("target")

        def _parse_project(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        project = _parse_project(d.pop("project"))

        def _parse_actor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        actor = _parse_actor(d.pop("actor"))

        def _parse_actor_name(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        actor_name = _parse_actor_name(d.pop("actor_name"))

        client_address = d.pop("client_address")

        request_id = d.pop("request_id")

        duration_ms = d.pop("duration_ms")

        status = d.pop("status")

        def _parse_code(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        code = _parse_code(d.pop("code"))

        def _parse_command(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                command_type_0 = cast(list[str], data)

                return command_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        command = _parse_command(d.pop("command", UNSET))

        command_truncated = d.pop("command_truncated", UNSET)

        audit_entry = cls(
            ts=ts,
            operation=operation,
            method=method,
            target=target,
            project=project,
            actor=actor,
            actor_name=actor_name,
            client_address=client_address,
            request_id=request_id,
            duration_ms=duration_ms,
            status=status,
            code=code,
            command=command,
            command_truncated=command_truncated,
        )

        audit_entry.additional_properties = d
        return audit_entry

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
