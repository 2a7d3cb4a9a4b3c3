from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.me import Me


T = TypeVar("T", bound="SignIn")


@_attrs_define
class SignIn:
    """
    Attributes:
        expires_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        token (Me):
        session (str | Unset): One half of the session, sent in the header `X-Boxyard-Session` together with the cookie
            from this response. Returned only once, and absent in a replay.
    """

    expires_at: datetime.datetime
    token: Me
    session: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        expires_at = self.expires_at.isoformat()

        token = self.token.to_dict()

        session = self.session

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "expires_at": expires_at,
                "token": token,
            }
        )
        if session is not UNSET:
            field_dict["session"] = session

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.me import Me

        d = dict(src_dict)
        expires_at = datetime.datetime.fromisoformat(d.pop("expires_at"))

        token = Me.from_dict(d.pop("token"))

        session = d.pop("session", UNSET)

        sign_in = cls(
            expires_at=expires_at,
            token=token,
            session=session,
        )

        sign_in.additional_properties = d
        return sign_in

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
