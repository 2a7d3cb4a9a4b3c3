from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.storage_pool_type_0_data import StoragePoolType0Data
    from ..models.storage_pool_type_0_device_errors import StoragePoolType0DeviceErrors
    from ..models.storage_pool_type_0_metadata import StoragePoolType0Metadata


T = TypeVar("T", bound="StoragePoolType0")


@_attrs_define
class StoragePoolType0:
    """
    Attributes:
        total_bytes (float): Size in bytes, including the space the pool can still grow by.
        used_bytes (float):
        available_bytes (float): Free bytes, including the space the pool can still grow by.
        data (StoragePoolType0Data): File contents (btrfs data).
        metadata (StoragePoolType0Metadata): Names, attributes and small files (btrfs metadata).
        device_errors (StoragePoolType0DeviceErrors): Disk errors since the pool was created or the last clean scrub.
            Keys: `writes`, `reads`, `flushes`, `corruptions` (wrong checksum) and `generations` (older content than was
            written).
    """

    total_bytes: float
    used_bytes: float
    available_bytes: float
    data: StoragePoolType0Data
    metadata: StoragePoolType0Metadata
    device_errors: StoragePoolType0DeviceErrors
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        total_bytes = self.total_bytes

        used_bytes = self.used_bytes

        available_bytes = self.available_bytes

        data = self.data.to_dict()

        metadata = self.metadata.to_dict()

        device_errors = self.device_errors.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "total_bytes": total_bytes,
                "used_bytes": used_bytes,
                "available_bytes": available_bytes,
                "data": data,
                "metadata": metadata,
                "device_errors": device_errors,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.storage_pool_type_0_data import StoragePoolType0Data
        from ..models.storage_pool_type_0_device_errors import (
            StoragePoolType0DeviceErrors,
        )
        from ..models.storage_pool_type_0_metadata import StoragePoolType0Metadata

        d = dict(src_dict)
        total_bytes = d.pop("total_bytes")

        used_bytes = d.pop("used_bytes")

        available_bytes = d.pop("available_bytes")

        data = StoragePoolType0Data.from_dict(d.pop("data"))

        metadata = StoragePoolType0Metadata.from_dict(d.pop("metadata"))

        device_errors = StoragePoolType0DeviceErrors.from_dict(d.pop("device_errors"))

        storage_pool_type_0 = cls(
            total_bytes=total_bytes,
            used_bytes=used_bytes,
            available_bytes=available_bytes,
            data=data,
            metadata=metadata,
            device_errors=device_errors,
        )

        storage_pool_type_0.additional_properties = d
        return storage_pool_type_0

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
