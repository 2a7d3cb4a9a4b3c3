from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RestoreBackup")


@_attrs_define
class RestoreBackup:
    """
    Attributes:
        as_ (str | Unset): A name, unique in its project.
    """

    as_: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        as_ = self.as_

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if as_ is not UNSET:
            field_dict["as"] = as_

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        as_ = d.pop("as", UNSET)

        restore_backup = cls(
            as_=as_,
        )

        return restore_backup
