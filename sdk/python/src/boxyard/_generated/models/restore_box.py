from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RestoreBox")


@_attrs_define
class RestoreBox:
    """
    Attributes:
        snapshot (str): A name, unique in its project.
        include_data (bool | Unset): Also restores the data volumes that the box wrote to. Default: true if the snapshot
            holds them.
    """

    snapshot: str
    include_data: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        snapshot = self.snapshot

        include_data = self.include_data

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "snapshot": snapshot,
            }
        )
        if include_data is not UNSET:
            field_dict["include_data"] = include_data

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        snapshot = d.pop("snapshot")

        include_data = d.pop("include_data", UNSET)

        restore_box = cls(
            snapshot=snapshot,
            include_data=include_data,
        )

        return restore_box
