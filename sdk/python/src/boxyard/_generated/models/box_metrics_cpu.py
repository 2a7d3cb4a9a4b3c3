from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxMetricsCpu")


@_attrs_define
class BoxMetricsCpu:
    """
    Attributes:
        seconds (float | None): CPU seconds used since the start of the box, over all cores. Null if the host does not
            count them.
        limit_cores (float): Number of cores the box can use, from `config.cpus`.
    """

    seconds: float | None
    limit_cores: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        seconds: float | None
        seconds = self.seconds

        limit_cores = self.limit_cores

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "seconds": seconds,
                "limit_cores": limit_cores,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_seconds(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        seconds = _parse_seconds(d.pop("seconds"))

        limit_cores = d.pop("limit_cores")

        box_metrics_cpu = cls(
            seconds=seconds,
            limit_cores=limit_cores,
        )

        box_metrics_cpu.additional_properties = d
        return box_metrics_cpu

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
