from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ProjectBoxes")


@_attrs_define
class ProjectBoxes:
    """Number of boxes by status. The sum equals `used.boxes`.

    Attributes:
        running (int): Boxes with status `running`.
        stopped (int): Boxes with status `stopped`.
        other (int): Boxes with status `pending` or `unknown`.
    """

    running: int
    stopped: int
    other: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        running = self.running

        stopped = self.stopped

        other = self.other

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "running": running,
                "stopped": stopped,
                "other": other,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        running = d.pop("running")

        stopped = d.pop("stopped")

        other = d.pop("other")

        project_boxes = cls(
            running=running,
            stopped=stopped,
            other=other,
        )

        project_boxes.additional_properties = d
        return project_boxes

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
