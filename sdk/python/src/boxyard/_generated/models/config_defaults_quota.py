from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ConfigDefaultsQuota")


@_attrs_define
class ConfigDefaultsQuota:
    """Quota of projects whose quota was never set. Null for unlimited.

    Attributes:
        boxes (float | None): Number of boxes in any state.
        cpus (float | None): Sum of `config.cpus`, in cores, over boxes that run or should run.
        ram_mb (float | None): Sum of `config.ram_mb`, in MiB, over boxes that run or should run.
        storage_gb (float | None): Sum, in GiB, of `config.storage_gb` over all boxes and `size_gb` over all data
            volumes. If the project stores more (`used.stored_bytes`), that amount counts.
    """

    boxes: float | None
    cpus: float | None
    ram_mb: float | None
    storage_gb: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        boxes: float | None
        boxes = self.boxes

        cpus: float | None
        cpus = self.cpus

        ram_mb: float | None
        ram_mb = self.ram_mb

        storage_gb: float | None
        storage_gb = self.storage_gb

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "boxes": boxes,
                "cpus": cpus,
                "ram_mb": ram_mb,
                "storage_gb": storage_gb,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_boxes(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        boxes = _parse_boxes(d.pop("boxes"))

        def _parse_cpus(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpus = _parse_cpus(d.pop("cpus"))

        def _parse_ram_mb(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        ram_mb = _parse_ram_mb(d.pop("ram_mb"))

        def _parse_storage_gb(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        storage_gb = _parse_storage_gb(d.pop("storage_gb"))

        config_defaults_quota = cls(
            boxes=boxes,
            cpus=cpus,
            ram_mb=ram_mb,
            storage_gb=storage_gb,
        )

        config_defaults_quota.additional_properties = d
        return config_defaults_quota

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
