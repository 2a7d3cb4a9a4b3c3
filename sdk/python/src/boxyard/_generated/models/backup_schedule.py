from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="BackupSchedule")


@_attrs_define
class BackupSchedule:
    """
    Attributes:
        interval_seconds (int | None): Seconds between backups. Null disables the schedule.
        keep_count (int | None | Unset): Number of older scheduled backups to keep. Null keeps all.
        keep_seconds (int | None | Unset): How long to keep older backups, in seconds. Null keeps them forever.
    """

    interval_seconds: int | None
    keep_count: int | None | Unset = UNSET
    keep_seconds: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        interval_seconds: int | None
        interval_seconds = self.interval_seconds

        keep_count: int | None | Unset
        if isinstance(self.keep_count, Unset):
            keep_count = UNSET
        else:
            keep_count = self.keep_count

        keep_seconds: int | None | Unset
        if isinstance(self.keep_seconds, Unset):
            keep_seconds = UNSET
        else:
            keep_seconds = self.keep_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "interval_seconds": interval_seconds,
            }
        )
        if keep_count is not UNSET:
            field_dict["keep_count"] = keep_count
        if keep_seconds is not UNSET:
            field_dict["keep_seconds"] = keep_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_interval_seconds(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        interval_seconds = _parse_interval_seconds(d.pop("interval_seconds"))

        def _parse_keep_count(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        keep_count = _parse_keep_count(d.pop("keep_count", UNSET))

        def _parse_keep_seconds(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        keep_seconds = _parse_keep_seconds(d.pop("keep_seconds", UNSET))

        backup_schedule = cls(
            interval_seconds=interval_seconds,
            keep_count=keep_count,
            keep_seconds=keep_seconds,
        )

        return backup_schedule
