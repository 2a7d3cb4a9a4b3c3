from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="PutServiceReadinessType0")


@_attrs_define
class PutServiceReadinessType0:
    """
    Attributes:
        http (str | Unset): Path to request with GET on the port of the service. A status of 200–399 succeeds.
        tcp (bool | Unset): Connects to the port of the service. A connection succeeds.
        command (list[str] | Unset): Command to run in the box as the user of the service. Exit code 0 succeeds.
        interval_seconds (float | Unset): Seconds between probes. Default: 1.
        timeout_seconds (float | Unset): Seconds until a probe fails. Default: 2.
        threshold (int | Unset): Consecutive failures that make the service unhealthy. Default: 3.
    """

    http: str | Unset = UNSET
    tcp: bool | Unset = UNSET
    command: list[str] | Unset = UNSET
    interval_seconds: float | Unset = UNSET
    timeout_seconds: float | Unset = UNSET
    threshold: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        http = self.http

        tcp = self.tcp

        command: list[str] | Unset = UNSET
        if not isinstance(self.command, Unset):
            command = self.command

        interval_seconds = self.interval_seconds

        timeout_seconds = self.timeout_seconds

        threshold = self.threshold

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if http is not UNSET:
            field_dict["http"] = http
        if tcp is not UNSET:
            field_dict["tcp"] = tcp
        if command is not UNSET:
            field_dict["command"] = command
        if interval_seconds is not UNSET:
            field_dict["interval_seconds"] = interval_seconds
        if timeout_seconds is not UNSET:
            field_dict["timeout_seconds"] = timeout_seconds
        if threshold is not UNSET:
            field_dict["threshold"] = threshold

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        http = d.pop("http", UNSET)

        tcp = d.pop("tcp", UNSET)

        command = cast(list[str], d.pop("command", UNSET))

        interval_seconds = d.pop("interval_seconds", UNSET)

        timeout_seconds = d.pop("timeout_seconds", UNSET)

        threshold = d.pop("threshold", UNSET)

        put_service_readiness_type_0 = cls(
            http=http,
            tcp=tcp,
            command=command,
            interval_seconds=interval_seconds,
            timeout_seconds=timeout_seconds,
            threshold=threshold,
        )

        return put_service_readiness_type_0
