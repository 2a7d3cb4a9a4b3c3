from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.box_metrics_point import BoxMetricsPoint


T = TypeVar("T", bound="BoxMetricsHistory")


@_attrs_define
class BoxMetricsHistory:
    """Usage history of a box. A fork, and a new box with the same name, start without history.

    Attributes:
        box (str): A name, unique in its project.
        step_seconds (int): Length of each interval in seconds, 60 or 600.
        points (list[BoxMetricsPoint]): Oldest first. Intervals in which the box did not run, or the service did not
            measure, have no point.
    """

    box: str
    step_seconds: int
    points: list[BoxMetricsPoint]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        box = self.box

        step_seconds = self.step_seconds

        points = []
        for points_item_data in self.points:
            points_item = points_item_data.to_dict()
            points.append(points_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "box": box,
                "step_seconds": step_seconds,
                "points": points,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_metrics_point import BoxMetricsPoint

        d = dict(src_dict)
        box = d.pop("box")

        step_seconds = d.pop("step_seconds")

        points = []
        _points = d.pop("points")
        for points_item_data in _points:
            points_item = BoxMetricsPoint.from_dict(points_item_data)

            points.append(points_item)

        box_metrics_history = cls(
            box=box,
            step_seconds=step_seconds,
            points=points,
        )

        box_metrics_history.additional_properties = d
        return box_metrics_history

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
