from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateBoxSnapshot")


@_attrs_define
class CreateBoxSnapshot:
    """
    Attributes:
        name (str | Unset): A name, unique in its project.
        comment (str | Unset): Free text about the snapshot.
        include_data (bool | Unset): Includes the data volumes of the box. Default: false.
    """

    name: str | Unset = UNSET
    comment: str | Unset = UNSET
    include_data: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        comment = self.comment

        include_data = self.include_data

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if comment is not UNSET:
            field_dict["comment"] = comment
        if include_data is not UNSET:
            field_dict["include_data"] = include_data

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name", UNSET)

        comment = d.pop("comment", UNSET)

        include_data = d.pop("include_data", UNSET)

        create_box_snapshot = cls(
            name=name,
            comment=comment,
            include_data=include_data,
        )

        return create_box_snapshot
