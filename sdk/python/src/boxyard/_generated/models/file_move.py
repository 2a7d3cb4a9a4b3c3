from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FileMove")


@_attrs_define
class FileMove:
    """
    Attributes:
        from_ (str | Unset): Absolute path in the box.
        from_base64 (str | Unset): Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the
            plain path.
        to (str | Unset): Absolute path in the box.
        to_base64 (str | Unset): Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the plain
            path.
        overwrite (bool | Unset): Replaces an existing target. Default: false.
    """

    from_: str | Unset = UNSET
    from_base64: str | Unset = UNSET
    to: str | Unset = UNSET
    to_base64: str | Unset = UNSET
    overwrite: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from_ = self.from_

        from_base64 = self.from_base64

        to = self.to

        to_base64 = self.to_base64

        overwrite = self.overwrite

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if from_ is not UNSET:
            field_dict["from"] = from_
        if from_base64 is not UNSET:
            field_dict["from_base64"] = from_base64
        if to is not UNSET:
            field_dict["to"] = to
        if to_base64 is not UNSET:
            field_dict["to_base64"] = to_base64
        if overwrite is not UNSET:
            field_dict["overwrite"] = overwrite

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        from_ = d.pop("from", UNSET)

        from_base64 = d.pop("from_base64", UNSET)

        to = d.pop("to", UNSET)

        to_base64 = d.pop("to_base64", UNSET)

        overwrite = d.pop("overwrite", UNSET)

        file_move = cls(
            from_=from_,
            from_base64=from_base64,
            to=to,
            to_base64=to_base64,
            overwrite=overwrite,
        )

        return file_move
