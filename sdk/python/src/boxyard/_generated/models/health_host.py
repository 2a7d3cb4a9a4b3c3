from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.health_host_cpu import HealthHostCpu
    from ..models.health_host_memory import HealthHostMemory
    from ..models.health_host_storage import HealthHostStorage
    from ..models.health_host_storage_mounts_item import HealthHostStorageMountsItem


T = TypeVar("T", bound="HealthHost")


@_attrs_define
class HealthHost:
    """Host of the agent, measured at the time of the request.

    Attributes:
        cpu (HealthHostCpu):
        memory (HealthHostMemory):
        storage_mounts (list[HealthHostStorageMountsItem]): Pool of boxes, volumes, snapshots and bases, including the
            space it can still grow by. Empty if it cannot be read, and for a token that does not cover all projects.
        storage (HealthHostStorage | Unset): Disk with the data directory. Absent if it cannot be read, and for a token
            that does not cover all projects.
    """

    cpu: HealthHostCpu
    memory: HealthHostMemory
    storage_mounts: list[HealthHostStorageMountsItem]
    storage: HealthHostStorage | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        cpu = self.cpu.to_dict()

        memory = self.memory.to_dict()

        storage_mounts = []
        for storage_mounts_item_data in self.storage_mounts:
            storage_mounts_item = storage_mounts_item_data.to_dict()
            storage_mounts.append(storage_mounts_item)

        storage: dict[str, Any] | Unset = UNSET
        if not isinstance(self.storage, Unset):
            storage = self.storage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cpu": cpu,
                "memory": memory,
                "storage_mounts": storage_mounts,
            }
        )
        if storage is not UNSET:
            field_dict["storage"] = storage

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.health_host_cpu import HealthHostCpu
        from ..models.health_host_memory import HealthHostMemory
        from ..models.health_host_storage import HealthHostStorage
        from ..models.health_host_storage_mounts_item import HealthHostStorageMountsItem

        d = dict(src_dict)
        cpu = HealthHostCpu.from_dict(d.pop("cpu"))

        memory = HealthHostMemory.from_dict(d.pop("memory"))

        storage_mounts = []
        _storage_mounts = d.pop("storage_mounts")
        for storage_mounts_item_data in _storage_mounts:
            storage_mounts_item = HealthHostStorageMountsItem.from_dict(
                storage_mounts_item_data
            )

            storage_mounts.append(storage_mounts_item)

        _storage = d.pop("storage", UNSET)
        storage: HealthHostStorage | Unset
        if isinstance(_storage, Unset):
            storage = UNSET
        else:
            storage = HealthHostStorage.from_dict(_storage)

        health_host = cls(
            cpu=cpu,
            memory=memory,
            storage_mounts=storage_mounts,
            storage=storage,
        )

        health_host.additional_properties = d
        return health_host

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
