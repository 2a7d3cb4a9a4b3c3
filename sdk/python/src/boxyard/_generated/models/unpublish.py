from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Unpublish")


@_attrs_define
class Unpublish:
    """
    Attributes:
        domains (list[str] | Unset): Domains to remove. Default: all.
    """

    domains: list[str] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        domains: list[str] | Unset = UNSET
        if not isinstance(self.domains, Unset):
            domains = self.domains

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if domains is not UNSET:
            field_dict["domains"] = domains

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        domains = cast(list[str], d.pop("domains", UNSET))

        unpublish = cls(
            domains=domains,
        )

        return unpublish
