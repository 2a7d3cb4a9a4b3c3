from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.box_url_settings_auth import BoxUrlSettingsAuth

T = TypeVar("T", bound="BoxUrlSettings")


@_attrs_define
class BoxUrlSettings:
    """
    Attributes:
        auth (BoxUrlSettingsAuth | str): `token` requires a token with `read` in the project. `public` allows anyone.
        wake (bool): Whether a request for one of its URLs starts the stopped box.
        idle_stop_seconds (int | None): Seconds without use until the box is stopped. Null for never.
    """

    auth: BoxUrlSettingsAuth | str
    wake: bool
    idle_stop_seconds: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        auth: str
        if isinstance(self.auth, BoxUrlSettingsAuth):
            auth = BoxUrlSettingsAuth(self.auth).value
        else:
            auth = self.auth

        wake = self.wake

        idle_stop_seconds: int | None
        idle_stop_seconds = self.idle_stop_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "auth": auth,
                "wake": wake,
                "idle_stop_seconds": idle_stop_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_auth(data: object) -> BoxUrlSettingsAuth | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                auth_auth = BoxUrlSettingsAuth(data)

                return auth_auth
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxUrlSettingsAuth | str, data)

        auth = _parse_auth(d.pop("auth"))

        wake = d.pop("wake")

        def _parse_idle_stop_seconds(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        idle_stop_seconds = _parse_idle_stop_seconds(d.pop("idle_stop_seconds"))

        box_url_settings = cls(
            auth=auth,
            wake=wake,
            idle_stop_seconds=idle_stop_seconds,
        )

        box_url_settings.additional_properties = d
        return box_url_settings

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
