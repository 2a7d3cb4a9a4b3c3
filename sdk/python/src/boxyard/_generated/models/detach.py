from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Detach")


@_attrs_define
class Detach:
    """
    Attributes:
        box (str): A name, unique in its project.
    """

    box: str

    def to_dict(self) -> dict[str, Any]:
        box = self.box

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "box": box,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        box = d.pop("box")

        detach = cls(
            box=box,
        )

        return detach
