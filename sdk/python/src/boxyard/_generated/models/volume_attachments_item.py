from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="VolumeAttachmentsItem")


@_attrs_define
class VolumeAttachmentsItem:
    """
    Attributes:
        box (str): A name, unique in its project.
        path (str): Mount path in the box.
        read_only (bool):
    """

    box: str
    path: str
    read_only: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        box = self.box

        path = self.path

        read_only = self.read_only

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "box": box,
                "path": path,
                "read_only": read_only,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        box = d.pop("box")

        path = d.pop("path")

        read_only = d.pop("read_only")

        volume_attachments_item = cls(
            box=box,
            path=path,
            read_only=read_only,
        )

        volume_attachments_item.additional_properties = d
        return volume_attachments_item

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
