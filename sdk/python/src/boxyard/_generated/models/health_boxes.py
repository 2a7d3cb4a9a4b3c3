from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HealthBoxes")


@_attrs_define
class HealthBoxes:
    """Number of boxes of the deployment, by `status`. Absent if they cannot be counted, and for a token that does not
    cover all projects.

        Attributes:
            pending (int): Boxes being created, started, stopped or restored.
            running (int):
            stopped (int):
            unknown (int): Boxes for which the runtime does not answer, or that it cannot restart.
            total (int):
    """

    pending: int
    running: int
    stopped: int
    unknown: int
    total: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        pending = self.pending

        running = self.running

        stopped = self.stopped

        unknown = self.unknown

        total = self.total

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "pending": pending,
                "running": running,
                "stopped": stopped,
                "unknown": unknown,
                "total": total,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        pending = d.pop("pending")

        running = d.pop("running")

        stopped = d.pop("stopped")

        unknown = d.pop("unknown")

        total = d.pop("total")

        health_boxes = cls(
            pending=pending,
            running=running,
            stopped=stopped,
            unknown=unknown,
            total=total,
        )

        health_boxes.additional_properties = d
        return health_boxes

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
