from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxMetricsStorage")


@_attrs_define
class BoxMetricsStorage:
    """
    Attributes:
        used_bytes (int): Compressed bytes written to the disk since creation or the last restore. `storage_gb` limits
            them.
        limit_bytes (int): `config.storage_gb` in bytes.
        unique_bytes (int | None): Bytes that deleting the box would free. Null while a restore replaces its disk.
        project_stored_bytes (int): Total bytes the project stores, equal to `used.stored_bytes` of its quota. Includes
            snapshots, and disks that restores replaced.
    """

    used_bytes: int
    limit_bytes: int
    unique_bytes: int | None
    project_stored_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        used_bytes = self.used_bytes

        limit_bytes = self.limit_bytes

        unique_bytes: int | None
        unique_bytes = self.unique_bytes

        project_stored_bytes = self.project_stored_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "used_bytes": used_bytes,
                "limit_bytes": limit_bytes,
                "unique_bytes": unique_bytes,
                "project_stored_bytes": project_stored_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        used_bytes = d.pop("used_bytes")

        limit_bytes = d.pop("limit_bytes")

        def _parse_unique_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        unique_bytes = _parse_unique_bytes(d.pop("unique_bytes"))

        project_stored_bytes = d.pop("project_stored_bytes")

        box_metrics_storage = cls(
            used_bytes=used_bytes,
            limit_bytes=limit_bytes,
            unique_bytes=unique_bytes,
            project_stored_bytes=project_stored_bytes,
        )

        box_metrics_storage.additional_properties = d
        return box_metrics_storage

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
