from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxMetricsPoint")


@_attrs_define
class BoxMetricsPoint:
    """Usage of a box over an interval.

    Attributes:
        at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        cpu_cores (float | None): Average number of cores in use. Null if the host does not count them.
        memory_bytes (int): Memory in use, in bytes, including the page cache. For a 60-second interval, this and the
            next two values are taken at its end; for 600 seconds, they are averages.
        cache_bytes (int): Part of that memory that the kernel can reclaim, in bytes.
        storage_bytes (int | None): Compressed bytes written since creation. `storage_gb` limits them; null while a
            restore replaces the disk.
        received_bytes_per_second (int): Average bytes per second received by the box.
        sent_bytes_per_second (int): Average bytes per second sent by the box.
    """

    at: datetime.datetime
    cpu_cores: float | None
    memory_bytes: int
    cache_bytes: int
    storage_bytes: int | None
    received_bytes_per_second: int
    sent_bytes_per_second: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        cpu_cores: float | None
        cpu_cores = self.cpu_cores

        memory_bytes = self.memory_bytes

        cache_bytes = self.cache_bytes

        storage_bytes: int | None
        storage_bytes = self.storage_bytes

        received_bytes_per_second = self.received_bytes_per_second

        sent_bytes_per_second = self.sent_bytes_per_second

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "cpu_cores": cpu_cores,
                "memory_bytes": memory_bytes,
                "cache_bytes": cache_bytes,
                "storage_bytes": storage_bytes,
                "received_bytes_per_second": received_bytes_per_second,
                "sent_bytes_per_second": sent_bytes_per_second,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        at = datetime.datetime.fromisoformat(d.pop("at"))

        def _parse_cpu_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores"))

        memory_bytes = d.pop("memory_bytes")

        cache_bytes = d.pop("cache_bytes")

        def _parse_storage_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        storage_bytes = _parse_storage_bytes(d.pop("storage_bytes"))

        received_bytes_per_second = d.pop("received_bytes_per_second")

        sent_bytes_per_second = d.pop("sent_bytes_per_second")

        box_metrics_point = cls(
            at=at,
            cpu_cores=cpu_cores,
            memory_bytes=memory_bytes,
            cache_bytes=cache_bytes,
            storage_bytes=storage_bytes,
            received_bytes_per_second=received_bytes_per_second,
            sent_bytes_per_second=sent_bytes_per_second,
        )

        box_metrics_point.additional_properties = d
        return box_metrics_point

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
