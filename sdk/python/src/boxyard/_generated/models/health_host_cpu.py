from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HealthHostCpu")


@_attrs_define
class HealthHostCpu:
    """
    Attributes:
        cores (int): CPU cores the agent can use.
        load_avg_1 (float): Load average of the kernel over 1 minute.
        load_avg_5 (float): Load average over 5 minutes.
        load_avg_15 (float): Load average over 15 minutes.
    """

    cores: int
    load_avg_1: float
    load_avg_5: float
    load_avg_15: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        cores = self.cores

        load_avg_1 = self.load_avg_1

        load_avg_5 = self.load_avg_5

        load_avg_15 = self.load_avg_15

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cores": cores,
                "load_avg_1": load_avg_1,
                "load_avg_5": load_avg_5,
                "load_avg_15": load_avg_15,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        cores = d.pop("cores")

        load_avg_1 = d.pop("load_avg_1")

        load_avg_5 = d.pop("load_avg_5")

        load_avg_15 = d.pop("load_avg_15")

        health_host_cpu = cls(
            cores=cores,
            load_avg_1=load_avg_1,
            load_avg_5=load_avg_5,
            load_avg_15=load_avg_15,
        )

        health_host_cpu.additional_properties = d
        return health_host_cpu

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
