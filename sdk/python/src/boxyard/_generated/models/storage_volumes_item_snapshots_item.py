from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="StorageVolumesItemSnapshotsItem")


@_attrs_define
class StorageVolumesItemSnapshotsItem:
    """
    Attributes:
        name (str): A name, unique in its project.
        size_bytes (float | None): Compressed size on disk of all its data, shared or not, in bytes. Null if it is
            missing, or was deleted during the request.
        unique_bytes (float | None): Bytes of `size_bytes` that nothing else shares. Deleting only this resource frees
            them.
    """

    name: str
    size_bytes: float | None
    unique_bytes: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        size_bytes: float | None
        size_bytes = self.size_bytes

        unique_bytes: float | None
        unique_bytes = self.unique_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "size_bytes": size_bytes,
                "unique_bytes": unique_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        def _parse_size_bytes(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        size_bytes = _parse_size_bytes(d.pop("size_bytes"))

        def _parse_unique_bytes(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        unique_bytes = _parse_unique_bytes(d.pop("unique_bytes"))

        storage_volumes_item_snapshots_item = cls(
            name=name,
            size_bytes=size_bytes,
            unique_bytes=unique_bytes,
        )

        storage_volumes_item_snapshots_item.additional_properties = d
        return storage_volumes_item_snapshots_item

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
