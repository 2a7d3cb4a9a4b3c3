from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="VolumeBackupScheduleType0")


@_attrs_define
class VolumeBackupScheduleType0:
    """
    Attributes:
        interval_seconds (int): Seconds between the starts of two backups.
        keep_count (int | None): Number of older scheduled backups to keep in addition to the newest. Null keeps all.
        keep_seconds (int | None): How long to keep older backups, in seconds. Null keeps them forever.
    """

    interval_seconds: int
    keep_count: int | None
    keep_seconds: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        interval_seconds = self.interval_seconds

        keep_count: int | None
        keep_count = self.keep_count

        keep_seconds: int | None
        keep_seconds = self.keep_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "interval_seconds": interval_seconds,
                "keep_count": keep_count,
                "keep_seconds": keep_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        interval_seconds = d.pop("interval_seconds")

        def _parse_keep_count(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        keep_count = _parse_keep_count(d.pop("keep_count"))

        def _parse_keep_seconds(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        keep_seconds = _parse_keep_seconds(d.pop("keep_seconds"))

        volume_backup_schedule_type_0 = cls(
            interval_seconds=interval_seconds,
            keep_count=keep_count,
            keep_seconds=keep_seconds,
        )

        volume_backup_schedule_type_0.additional_properties = d
        return volume_backup_schedule_type_0

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
