from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HealthKubernetesNodesItem")


@_attrs_define
class HealthKubernetesNodesItem:
    """
    Attributes:
        name (str):
        cpu_allocatable (str): Kubernetes quantity as reported, such as `1930m`.
        cpu_capacity (str): Kubernetes quantity as reported, such as `2`.
        memory_allocatable_bytes (int):
        memory_capacity_bytes (int):
        pods_allocatable (int):
        pods_capacity (int):
        pods_running (int): Running pods on the node.
        boxes (int): Running pods on the node that are boxes of this deployment.
        ready (bool): Whether its `Ready` condition is true.
    """

    name: str
    cpu_allocatable: str
    cpu_capacity: str
    memory_allocatable_bytes: int
    memory_capacity_bytes: int
    pods_allocatable: int
    pods_capacity: int
    pods_running: int
    boxes: int
    ready: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        cpu_allocatable = self.cpu_allocatable

        cpu_capacity = self.cpu_capacity

        memory_allocatable_bytes = self.memory_allocatable_bytes

        memory_capacity_bytes = self.memory_capacity_bytes

        pods_allocatable = self.pods_allocatable

        pods_capacity = self.pods_capacity

        pods_running = self.pods_running

        boxes = self.boxes

        ready = self.ready

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "cpu_allocatable": cpu_allocatable,
                "cpu_capacity": cpu_capacity,
                "memory_allocatable_bytes": memory_allocatable_bytes,
                "memory_capacity_bytes": memory_capacity_bytes,
                "pods_allocatable": pods_allocatable,
                "pods_capacity": pods_capacity,
                "pods_running": pods_running,
                "boxes": boxes,
                "ready": ready,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        cpu_allocatable = d.pop("cpu_allocatable")

        cpu_capacity = d.pop("cpu_capacity")

        memory_allocatable_bytes = d.pop("memory_allocatable_bytes")

        memory_capacity_bytes = d.pop("memory_capacity_bytes")

        pods_allocatable = d.pop("pods_allocatable")

        pods_capacity = d.pop("pods_capacity")

        pods_running = d.pop("pods_running")

        boxes = d.pop("boxes")

        ready = d.pop("ready")

        health_kubernetes_nodes_item = cls(
            name=name,
            cpu_allocatable=cpu_allocatable,
            cpu_capacity=cpu_capacity,
            memory_allocatable_bytes=memory_allocatable_bytes,
            memory_capacity_bytes=memory_capacity_bytes,
            pods_allocatable=pods_allocatable,
            pods_capacity=pods_capacity,
            pods_running=pods_running,
            boxes=boxes,
            ready=ready,
        )

        health_kubernetes_nodes_item.additional_properties = d
        return health_kubernetes_nodes_item

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
