from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="PublishService")


@_attrs_define
class PublishService:
    """
    Attributes:
        domains (list[str]): Domains to add to the service.
    """

    domains: list[str]

    def to_dict(self) -> dict[str, Any]:
        domains = self.domains

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "domains": domains,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        domains = cast(list[str], d.pop("domains"))

        publish_service = cls(
            domains=domains,
        )

        return publish_service
