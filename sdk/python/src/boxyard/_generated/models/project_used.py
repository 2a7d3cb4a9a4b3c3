from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ProjectUsed")


@_attrs_define
class ProjectUsed:
    """Current usage that counts against the quota.

    Attributes:
        boxes (float): Number of boxes in any state.
        cpus (float): Sum of `config.cpus`, in cores, over boxes that run or should run.
        ram_mb (float): Sum of `config.ram_mb`, in MiB, over boxes that run or should run.
        storage_gb (float): Sum, in GiB, of `config.storage_gb` over all boxes and `size_gb` over all data volumes. If
            the project stores more (`used.stored_bytes`), that amount counts.
        stored_bytes (int): Compressed bytes on disk for boxes, volumes, snapshots, bases and previews of the project,
            including data they retain from deleted ones. Data shared with a base of the deployment is free.
    """

    boxes: float
    cpus: float
    ram_mb: float
    storage_gb: float
    stored_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        boxes = self.boxes

        cpus = self.cpus

        ram_mb = self.ram_mb

        storage_gb = self.storage_gb

        stored_bytes = self.stored_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "boxes": boxes,
                "cpus": cpus,
                "ram_mb": ram_mb,
                "storage_gb": storage_gb,
                "stored_bytes": stored_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        boxes = d.pop("boxes")

        cpus = d.pop("cpus")

        ram_mb = d.pop("ram_mb")

        storage_gb = d.pop("storage_gb")

        stored_bytes = d.pop("stored_bytes")

        project_used = cls(
            boxes=boxes,
            cpus=cpus,
            ram_mb=ram_mb,
            storage_gb=storage_gb,
            stored_bytes=stored_bytes,
        )

        project_used.additional_properties = d
        return project_used

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
