from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.publish_auth import PublishAuth
from ..models.publish_protocol_type_0 import PublishProtocolType0
from ..types import UNSET, Unset

T = TypeVar("T", bound="Publish")


@_attrs_define
class Publish:
    """
    Attributes:
        domains (list[str] | Unset): Domains to add to the box.
        port (int | None | Unset): Port that all its URLs forward to. 0 and null unset it.
        protocol (None | PublishProtocolType0 | Unset):
        auth (PublishAuth | Unset): Access to all its URLs, as `url_settings.auth`.
    """

    domains: list[str] | Unset = UNSET
    port: int | None | Unset = UNSET
    protocol: None | PublishProtocolType0 | Unset = UNSET
    auth: PublishAuth | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        domains: list[str] | Unset = UNSET
        if not isinstance(self.domains, Unset):
            domains = self.domains

        port: int | None | Unset
        if isinstance(self.port, Unset):
            port = UNSET
        else:
            port = self.port

        protocol: None | str | Unset
        if isinstance(self.protocol, Unset):
            protocol = UNSET
        elif isinstance(self.protocol, PublishProtocolType0):
            protocol = PublishProtocolType0(self.protocol).value
        else:
            protocol = self.protocol

        auth: str | Unset = UNSET
        if not isinstance(self.auth, Unset):
            auth = PublishAuth(self.auth).value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if domains is not UNSET:
            field_dict["domains"] = domains
        if port is not UNSET:
            field_dict["port"] = port
        if protocol is not UNSET:
            field_dict["protocol"] = protocol
        if auth is not UNSET:
            field_dict["auth"] = auth

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        domains = cast(list[str], d.pop("domains", UNSET))

        def _parse_port(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        port = _parse_port(d.pop("port", UNSET))

        def _parse_protocol(data: object) -> None | PublishProtocolType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_type_0 = PublishProtocolType0(data)

                return protocol_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PublishProtocolType0 | Unset, data)

        protocol = _parse_protocol(d.pop("protocol", UNSET))

        _auth = d.pop("auth", UNSET)
        auth: PublishAuth | Unset
        if isinstance(_auth, Unset):
            auth = UNSET
        else:
            auth = PublishAuth(_auth)

        publish = cls(
            domains=domains,
            port=port,
            protocol=protocol,
            auth=auth,
        )

        return publish
