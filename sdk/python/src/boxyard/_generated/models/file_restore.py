from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FileRestore")


@_attrs_define
class FileRestore:
    """
    Attributes:
        snapshot (str): A name, unique in its project.
        path (str | Unset): Absolute path in the box.
        path_base64 (str | Unset): Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the
            plain path.
    """

    snapshot: str
    path: str | Unset = UNSET
    path_base64: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        snapshot = self.snapshot

        path = self.path

        path_base64 = self.path_base64

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "snapshot": snapshot,
            }
        )
        if path is not UNSET:
            field_dict["path"] = path
        if path_base64 is not UNSET:
            field_dict["path_base64"] = path_base64

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        snapshot = d.pop("snapshot")

        path = d.pop("path", UNSET)

        path_base64 = d.pop("path_base64", UNSET)

        file_restore = cls(
            snapshot=snapshot,
            path=path,
            path_base64=path_base64,
        )

        return file_restore
