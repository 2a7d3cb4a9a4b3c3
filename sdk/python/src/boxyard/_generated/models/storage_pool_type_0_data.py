from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="StoragePoolType0Data")


@_attrs_define
class StoragePoolType0Data:
    """File contents (btrfs data).

    Attributes:
        total_bytes (float): Bytes that btrfs has allocated for this kind of data.
        used_bytes (float): Bytes in use.
    """

    total_bytes: float
    used_bytes: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        total_bytes = self.total_bytes

        used_bytes = self.used_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "total_bytes": total_bytes,
                "used_bytes": used_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        total_bytes = d.pop("total_bytes")

        used_bytes = d.pop("used_bytes")

        storage_pool_type_0_data = cls(
            total_bytes=total_bytes,
            used_bytes=used_bytes,
        )

        storage_pool_type_0_data.additional_properties = d
        return storage_pool_type_0_data

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
