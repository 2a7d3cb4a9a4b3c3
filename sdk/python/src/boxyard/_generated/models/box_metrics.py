from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.box_metrics_cpu import BoxMetricsCpu
    from ..models.box_metrics_memory import BoxMetricsMemory
    from ..models.box_metrics_network_type_0 import BoxMetricsNetworkType0
    from ..models.box_metrics_pids import BoxMetricsPids
    from ..models.box_metrics_storage import BoxMetricsStorage


T = TypeVar("T", bound="BoxMetrics")


@_attrs_define
class BoxMetrics:
    """Kernel counters at the time of the request. Values that only a running box has are null while the box does not run.

    Attributes:
        box (str): A name, unique in its project.
        at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        cpu (BoxMetricsCpu):
        memory (BoxMetricsMemory):
        pids (BoxMetricsPids):
        network (BoxMetricsNetworkType0 | None): Counters of all interfaces except loopback, as the box sees them. They
            may not start at 0, so compare two readings.
        storage (BoxMetricsStorage):
    """

    box: str
    at: datetime.datetime
    cpu: BoxMetricsCpu
    memory: BoxMetricsMemory
    pids: BoxMetricsPids
    network: BoxMetricsNetworkType0 | None
    storage: BoxMetricsStorage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.box_metrics_network_type_0 import BoxMetricsNetworkType0

        box = self.box

        at = self.at.isoformat()

        cpu = self.cpu.to_dict()

        memory = self.memory.to_dict()

        pids = self.pids.to_dict()

        network: dict[str, Any] | None
        if isinstance(self.network, BoxMetricsNetworkType0):
            network = self.network.to_dict()
        else:
            network = self.network

        storage = self.storage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "box": box,
                "at": at,
                "cpu": cpu,
                "memory": memory,
                "pids": pids,
                "network": network,
                "storage": storage,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_metrics_cpu import BoxMetricsCpu
        from ..models.box_metrics_memory import BoxMetricsMemory
        from ..models.box_metrics_network_type_0 import BoxMetricsNetworkType0
        from ..models.box_metrics_pids import BoxMetricsPids
        from ..models.box_metrics_storage import BoxMetricsStorage

        d = dict(src_dict)
        box = d.pop("box")

        at = datetime.datetime.fromisoformat(d.pop("at"))

        cpu = BoxMetricsCpu.from_dict(d.pop("cpu"))

        memory = BoxMetricsMemory.from_dict(d.pop("memory"))

        pids = BoxMetricsPids.from_dict(d.pop("pids"))

        def _parse_network(data: object) -> BoxMetricsNetworkType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                network_type_0 = BoxMetricsNetworkType0.from_dict(data)

                return network_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxMetricsNetworkType0 | None, data)

        network = _parse_network(d.pop("network"))

        storage = BoxMetricsStorage.from_dict(d.pop("storage"))

        box_metrics = cls(
            box=box,
            at=at,
            cpu=cpu,
            memory=memory,
            pids=pids,
            network=network,
            storage=storage,
        )

        box_metrics.additional_properties = d
        return box_metrics

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
