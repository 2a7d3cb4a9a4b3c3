from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.storage_cells_item_pool_data import StorageCellsItemPoolData
    from ..models.storage_cells_item_pool_device_errors import (
        StorageCellsItemPoolDeviceErrors,
    )
    from ..models.storage_cells_item_pool_metadata import StorageCellsItemPoolMetadata


T = TypeVar("T", bound="StorageCellsItemPool")


@_attrs_define
class StorageCellsItemPool:
    """
    Attributes:
        total_bytes (float): Size in bytes, including the space the pool can still grow by.
        used_bytes (float):
        available_bytes (float): Free bytes, including the space the pool can still grow by.
        data (StorageCellsItemPoolData): File contents (btrfs data).
        metadata (StorageCellsItemPoolMetadata): Names, attributes and small files (btrfs metadata).
        device_errors (StorageCellsItemPoolDeviceErrors): Disk errors since the pool was created or the last clean
            scrub. Keys: `writes`, `reads`, `flushes`, `corruptions` (wrong checksum) and `generations` (older content than
            was written).
    """

    total_bytes: float
    used_bytes: float
    available_bytes: float
    data: StorageCellsItemPoolData
    metadata: StorageCellsItemPoolMetadata
    device_errors: StorageCellsItemPoolDeviceErrors
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
        from ..models.storage_cells_item_pool_data import StorageCellsItemPoolData
        from ..models.storage_cells_item_pool_device_errors import (
            StorageCellsItemPoolDeviceErrors,
        )
        from ..models.storage_cells_item_pool_metadata import (
            StorageCellsItemPoolMetadata,
        )

        d = dict(src_dict)
        total_bytes = d.pop("total_bytes")

        used_bytes = d.pop("used_bytes")

        available_bytes = d.pop("available_bytes")

        data = StorageCellsItemPoolData.from_dict(d.pop("data"))

        metadata = StorageCellsItemPoolMetadata.from_dict(d.pop("metadata"))

        device_errors = StorageCellsItemPoolDeviceErrors.from_dict(
            d.pop("device_errors")
        )

        storage_cells_item_pool = cls(
            total_bytes=total_bytes,
            used_bytes=used_bytes,
            available_bytes=available_bytes,
            data=data,
            metadata=metadata,
            device_errors=device_errors,
        )

        storage_cells_item_pool.additional_properties = d
        return storage_cells_item_pool

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
