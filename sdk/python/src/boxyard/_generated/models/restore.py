from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Restore")


@_attrs_define
class Restore:
    """
    Attributes:
        snapshot (str): A name, unique in its project.
    """

    snapshot: str

    def to_dict(self) -> dict[str, Any]:
        snapshot = self.snapshot

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "snapshot": snapshot,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        snapshot = d.pop("snapshot")

        restore = cls(
            snapshot=snapshot,
        )

        return restore
