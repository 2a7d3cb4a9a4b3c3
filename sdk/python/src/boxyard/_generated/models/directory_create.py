from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="DirectoryCreate")


@_attrs_define
class DirectoryCreate:
    """
    Attributes:
        path (str | Unset): Absolute path in the box.
        path_base64 (str | Unset): Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the
            plain path.
        mode (str | Unset): Permission bits in octal.
        parents (bool | Unset): Creates missing parent directories. Default: false.
    """

    path: str | Unset = UNSET
    path_base64: str | Unset = UNSET
    mode: str | Unset = UNSET
    parents: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        path = self.path

        path_base64 = self.path_base64

        mode = self.mode

        parents = self.parents

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if path is not UNSET:
            field_dict["path"] = path
        if path_base64 is not UNSET:
            field_dict["path_base64"] = path_base64
        if mode is not UNSET:
            field_dict["mode"] = mode
        if parents is not UNSET:
            field_dict["parents"] = parents

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        path = d.pop("path", UNSET)

        path_base64 = d.pop("path_base64", UNSET)

        mode = d.pop("mode", UNSET)

        parents = d.pop("parents", UNSET)

        directory_create = cls(
            path=path,
            path_base64=path_base64,
            mode=mode,
            parents=parents,
        )

        return directory_create
