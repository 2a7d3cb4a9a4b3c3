from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.health_kubernetes_nodes_item import HealthKubernetesNodesItem


T = TypeVar("T", bound="HealthKubernetes")


@_attrs_define
class HealthKubernetes:
    """
    Attributes:
        nodes (list[HealthKubernetesNodesItem]): Nodes of the cluster. Empty without a cluster, and while they cannot be
            read.
        total_pods_capacity (int): Sum over `nodes`.
        total_pods_running (int): Sum over `nodes`.
    """

    nodes: list[HealthKubernetesNodesItem]
    total_pods_capacity: int
    total_pods_running: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        nodes = []
        for nodes_item_data in self.nodes:
            nodes_item = nodes_item_data.to_dict()
            nodes.append(nodes_item)

        total_pods_capacity = self.total_pods_capacity

        total_pods_running = self.total_pods_running

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "nodes": nodes,
                "total_pods_capacity": total_pods_capacity,
                "total_pods_running": total_pods_running,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.health_kubernetes_nodes_item import HealthKubernetesNodesItem

        d = dict(src_dict)
        nodes = []
        _nodes = d.pop("nodes")
        for nodes_item_data in _nodes:
            nodes_item = HealthKubernetesNodesItem.from_dict(nodes_item_data)

            nodes.append(nodes_item)

        total_pods_capacity = d.pop("total_pods_capacity")

        total_pods_running = d.pop("total_pods_running")

        health_kubernetes = cls(
            nodes=nodes,
            total_pods_capacity=total_pods_capacity,
            total_pods_running=total_pods_running,
        )

        health_kubernetes.additional_properties = d
        return health_kubernetes

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
