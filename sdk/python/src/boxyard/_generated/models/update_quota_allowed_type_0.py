from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="UpdateQuotaAllowedType0")


@_attrs_define
class UpdateQuotaAllowedType0:
    """
    Attributes:
        boxes (float | None | Unset): Number of boxes in any state.
        cpus (float | None | Unset): Sum of `config.cpus`, in cores, over boxes that run or should run.
        ram_mb (float | None | Unset): Sum of `config.ram_mb`, in MiB, over boxes that run or should run.
        storage_gb (float | None | Unset): Sum, in GiB, of `config.storage_gb` over all boxes and `size_gb` over all
            data volumes. If the project stores more (`used.stored_bytes`), that amount counts.
    """

    boxes: float | None | Unset = UNSET
    cpus: float | None | Unset = UNSET
    ram_mb: float | None | Unset = UNSET
    storage_gb: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        boxes: float | None | Unset
        if isinstance(self.boxes, Unset):
            boxes = UNSET
        else:
            boxes = self.boxes

        cpus: float | None | Unset
        if isinstance(self.cpus, Unset):
            cpus = UNSET
        else:
            cpus = self.cpus

        ram_mb: float | None | Unset
        if isinstance(self.ram_mb, Unset):
            ram_mb = UNSET
        else:
            ram_mb = self.ram_mb

        storage_gb: float | None | Unset
        if isinstance(self.storage_gb, Unset):
            storage_gb = UNSET
        else:
            storage_gb = self.storage_gb

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if boxes is not UNSET:
            field_dict["boxes"] = boxes
        if cpus is not UNSET:
            field_dict["cpus"] = cpus
        if ram_mb is not UNSET:
            field_dict["ram_mb"] = ram_mb
        if storage_gb is not UNSET:
            field_dict["storage_gb"] = storage_gb

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_boxes(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        boxes = _parse_boxes(d.pop("boxes", UNSET))

        def _parse_cpus(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpus = _parse_cpus(d.pop("cpus", UNSET))

        def _parse_ram_mb(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        ram_mb = _parse_ram_mb(d.pop("ram_mb", UNSET))

        def _parse_storage_gb(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        storage_gb = _parse_storage_gb(d.pop("storage_gb", UNSET))

        update_quota_allowed_type_0 = cls(
            boxes=boxes,
            cpus=cpus,
            ram_mb=ram_mb,
            storage_gb=storage_gb,
        )

        return update_quota_allowed_type_0
