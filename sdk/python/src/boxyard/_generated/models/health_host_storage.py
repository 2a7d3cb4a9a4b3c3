from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HealthHostStorage")


@_attrs_define
class HealthHostStorage:
    """Disk with the data directory. Absent if it cannot be read, and for a token that does not cover all projects.

    Attributes:
        path (str): Data directory of the deployment.
        total_bytes (int):
        used_bytes (int):
        available_bytes (int):
        used_percent (float): Percentage in use, 0–100.
    """

    path: str
    total_bytes: int
    used_bytes: int
    available_bytes: int
    used_percent: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        path = self.path

        total_bytes = self.total_bytes

        used_bytes = self.used_bytes

        available_bytes = self.available_bytes

        used_percent = self.used_percent

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "path": path,
                "total_bytes": total_bytes,
                "used_bytes": used_bytes,
                "available_bytes": available_bytes,
                "used_percent": used_percent,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        path = d.pop("path")

        total_bytes = d.pop("total_bytes")

        used_bytes = d.pop("used_bytes")

        available_bytes = d.pop("available_bytes")

        used_percent = d.pop("used_percent")

        health_host_storage = cls(
            path=path,
            total_bytes=total_bytes,
            used_bytes=used_bytes,
            available_bytes=available_bytes,
            used_percent=used_percent,
        )

        health_host_storage.additional_properties = d
        return health_host_storage

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
