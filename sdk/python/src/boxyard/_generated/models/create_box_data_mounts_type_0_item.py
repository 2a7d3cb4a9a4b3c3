from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateBoxDataMountsType0Item")


@_attrs_define
class CreateBoxDataMountsType0Item:
    """
    Attributes:
        name (str): A name, unique in its project.
        path (str): Absolute and normalized path. Must not be `/`, or below `/proc`, `/sys` or `/dev`.
        read_only (bool | Unset):
    """

    name: str
    path: str
    read_only: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        path = self.path

        read_only = self.read_only

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "path": path,
            }
        )
        if read_only is not UNSET:
            field_dict["read_only"] = read_only

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        path = d.pop("path")

        read_only = d.pop("read_only", UNSET)

        create_box_data_mounts_type_0_item = cls(
            name=name,
            path=path,
            read_only=read_only,
        )

        return create_box_data_mounts_type_0_item
