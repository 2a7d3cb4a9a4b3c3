from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxMetricsMemory")


@_attrs_define
class BoxMetricsMemory:
    """
    Attributes:
        used_bytes (int | None): Memory in use, in bytes, including the page cache of its files.
        cache_bytes (int | None): Part of the used memory that the kernel can reclaim, in bytes.
        limit_bytes (int): `config.ram_mb` in bytes.
    """

    used_bytes: int | None
    cache_bytes: int | None
    limit_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        used_bytes: int | None
        used_bytes = self.used_bytes

        cache_bytes: int | None
        cache_bytes = self.cache_bytes

        limit_bytes = self.limit_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "used_bytes": used_bytes,
                "cache_bytes": cache_bytes,
                "limit_bytes": limit_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_used_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        used_bytes = _parse_used_bytes(d.pop("used_bytes"))

        def _parse_cache_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        cache_bytes = _parse_cache_bytes(d.pop("cache_bytes"))

        limit_bytes = d.pop("limit_bytes")

        box_metrics_memory = cls(
            used_bytes=used_bytes,
            cache_bytes=cache_bytes,
            limit_bytes=limit_bytes,
        )

        box_metrics_memory.additional_properties = d
        return box_metrics_memory

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
