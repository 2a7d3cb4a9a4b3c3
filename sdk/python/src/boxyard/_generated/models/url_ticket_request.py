from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="UrlTicketRequest")


@_attrs_define
class UrlTicketRequest:
    """
    Attributes:
        url (str): URL of the box, of one of its services or previews, or of one of its domains. Its path, query and
            fragment are opened.
    """

    url: str

    def to_dict(self) -> dict[str, Any]:
        url = self.url

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "url": url,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        url = d.pop("url")

        url_ticket_request = cls(
            url=url,
        )

        return url_ticket_request
