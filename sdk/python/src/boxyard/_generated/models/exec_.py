from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.exec_encoding import ExecEncoding
from ..models.exec_reason import ExecReason
from ..models.exec_status import ExecStatus

if TYPE_CHECKING:
    from ..models.exec_next_offset import ExecNextOffset


T = TypeVar("T", bound="Exec")


@_attrs_define
class Exec:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        box (str): A name, unique in its project.
        project (str): A name, unique in its project.
        command (list[str]): Program and arguments. For `shell`: `/bin/sh`, `-c` and the command line.
        status (ExecStatus | str):
        exit_code (int | None): Exit code. Null while the command runs, if a signal ended it, and if its end was not
            observed.
        signal (None | str): Signal that ended the command, such as `SIGKILL`. Null otherwise.
        reason (ExecReason | None): Why the command could not start, if the exit code does not say. Null otherwise.
        oom_kills (int): Processes that the kernel killed during the command because the memory of the box was full.
            Includes its children, and other processes of the box if the command has no cgroup of its own to count them.
        started_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        ended_at (datetime.datetime | None): When the command ended. Null while it runs; for `lost`, when the loss was
            noticed.
        tty (bool): Whether the command has a terminal. All output is then stdout.
        user (str): User from the request. Default: `root`.
        cwd (str): Working directory at the start.
        detached (bool): Whether the command was started with `no_hup`.
        process (int | None): Process id in the box. Null if it is not known.
        stdout (str): The last 1 MiB of stdout.
        stderr (str): The last 1 MiB of stderr.
        encoding (ExecEncoding | str): Encoding of `stdout` and `stderr`. In `utf-8`, U+FFFD replaces invalid bytes.
        truncated (bool): Whether earlier output of a stream is missing.
        next_offset (ExecNextOffset): Total bytes written to each stream.
    """

    id: str
    box: str
    project: str
    command: list[str]
    status: ExecStatus | str
    exit_code: int | None
    signal: None | str
    reason: ExecReason | None
    oom_kills: int
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    tty: bool
    user: str
    cwd: str
    detached: bool
    process: int | None
    stdout: str
    stderr: str
    encoding: ExecEncoding | str
    truncated: bool
    next_offset: ExecNextOffset
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        box = self.box

        project = self.project

        command = self.command

        status: str
        if isinstance(self.status, ExecStatus):
            status = ExecStatus(self.status).value
        else:
            status = self.status

        exit_code: int | None
        exit_code = self.exit_code

        signal: None | str
        signal = self.signal

        reason: None | str
        if isinstance(self.reason, ExecReason):
            reason = ExecReason(self.reason).value
        else:
            reason = self.reason

        oom_kills = self.oom_kills

        started_at = self.started_at.isoformat()

        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        tty = self.tty

        user = self.user

        cwd = self.cwd

        detached = self.detached

        process: int | None
        process = self.process

        stdout = self.stdout

        stderr = self.stderr

        encoding: str
        if isinstance(self.encoding, ExecEncoding):
            encoding = ExecEncoding(self.encoding).value
        else:
            encoding = self.encoding

        truncated = self.truncated

        next_offset = self.next_offset.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "box": box,
                "project": project,
                "command": command,
                "status": status,
                "exit_code": exit_code,
                "signal": signal,
                "reason": reason,
                "oom_kills": oom_kills,
                "started_at": started_at,
                "ended_at": ended_at,
                "tty": tty,
                "user": user,
                "cwd": cwd,
                "detached": detached,
                "process": process,
                "stdout": stdout,
                "stderr": stderr,
                "encoding": encoding,
                "truncated": truncated,
                "next_offset": next_offset,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.exec_next_offset import ExecNextOffset

        d = dict(src_dict)
        id = d.pop("id")

        box = d.pop("box")

        project = d.pop("project")

        command = cast(list[str], d.pop("command"))

        def _parse_status(data: object) -> ExecStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_type_0 = ExecStatus(data)

                return status_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecStatus | str, data)

        status = _parse_status(d.pop("status"))

        def _parse_exit_code(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        exit_code = _parse_exit_code(d.pop("exit_code"))

        def _parse_signal(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        signal = _parse_signal(d.pop("signal"))

        def _parse_reason(data: object) -> ExecReason | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reason_type_0 = ExecReason(data)

                return reason_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecReason | None, data)

        reason = _parse_reason(d.pop("reason"))

        oom_kills = d.pop("oom_kills")

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = datetime.datetime.fromisoformat(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        ended_at = _parse_ended_at(d.pop("ended_at"))

        tty = d.pop("tty")

        user = d.pop("user")

        cwd = d.pop("cwd")

        detached = d.pop("detached")

        def _parse_process(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        process = _parse_process(d.pop("process"))

        stdout = d.pop("stdout")

        stderr = d.pop("stderr")

        def _parse_encoding(data: object) -> ExecEncoding | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                encoding_encoding = ExecEncoding(data)

                return encoding_encoding
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecEncoding | str, data)

        encoding = _parse_encoding(d.pop("encoding"))

        truncated = d.pop("truncated")

        next_offset = ExecNextOffset.from_dict(d.pop("next_offset"))

        exec_ = cls(
            id=id,
            box=box,
            project=project,
            command=command,
            status=status,
            exit_code=exit_code,
            signal=signal,
            reason=reason,
            oom_kills=oom_kills,
            started_at=started_at,
            ended_at=ended_at,
            tty=tty,
            user=user,
            cwd=cwd,
            detached=detached,
            process=process,
            stdout=stdout,
            stderr=stderr,
            encoding=encoding,
            truncated=truncated,
            next_offset=next_offset,
        )

        exec_.additional_properties = d
        return exec_

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
