from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Attach")


@_attrs_define
class Attach:
    """
    Attributes:
        box (str): A name, unique in its project.
        path (str): Absolute and normalized path. Must not be `/`, or below `/proc`, `/sys` or `/dev`.
        read_only (bool | Unset): Mounts the volume read-only. Default: false.
    """

    box: str
    path: str
    read_only: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        box = self.box

        path = self.path

        read_only = self.read_only

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "box": box,
                "path": path,
            }
        )
        if read_only is not UNSET:
            field_dict["read_only"] = read_only

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        box = d.pop("box")

        path = d.pop("path")

        read_only = d.pop("read_only", UNSET)

        attach = cls(
            box=box,
            path=path,
            read_only=read_only,
        )

        return attach
