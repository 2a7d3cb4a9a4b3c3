from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.base_used_by_type_0_boxes_item import BaseUsedByType0BoxesItem


T = TypeVar("T", bound="BaseUsedByType0")


@_attrs_define
class BaseUsedByType0:
    """
    Attributes:
        boxes (list[BaseUsedByType0BoxesItem]):
        count (int): Total number of such boxes, including those beyond the first 100.
    """

    boxes: list[BaseUsedByType0BoxesItem]
    count: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        boxes = []
        for boxes_item_data in self.boxes:
            boxes_item = boxes_item_data.to_dict()
            boxes.append(boxes_item)

        count = self.count

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "boxes": boxes,
                "count": count,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.base_used_by_type_0_boxes_item import BaseUsedByType0BoxesItem

        d = dict(src_dict)
        boxes = []
        _boxes = d.pop("boxes")
        for boxes_item_data in _boxes:
            boxes_item = BaseUsedByType0BoxesItem.from_dict(boxes_item_data)

            boxes.append(boxes_item)

        count = d.pop("count")

        base_used_by_type_0 = cls(
            boxes=boxes,
            count=count,
        )

        base_used_by_type_0.additional_properties = d
        return base_used_by_type_0

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
