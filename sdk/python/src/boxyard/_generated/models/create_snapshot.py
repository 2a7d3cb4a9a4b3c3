from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateSnapshot")


@_attrs_define
class CreateSnapshot:
    """
    Attributes:
        name (str | Unset): A name, unique in its project.
        comment (str | Unset): Free text about the snapshot.
    """

    name: str | Unset = UNSET
    comment: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        comment = self.comment

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if comment is not UNSET:
            field_dict["comment"] = comment

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name", UNSET)

        comment = d.pop("comment", UNSET)

        create_snapshot = cls(
            name=name,
            comment=comment,
        )

        return create_snapshot
