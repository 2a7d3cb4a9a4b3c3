from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.create_box_url_settings_type_0_auth_type_0 import (
    CreateBoxUrlSettingsType0AuthType0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateBoxUrlSettingsType0")


@_attrs_define
class CreateBoxUrlSettingsType0:
    """
    Attributes:
        auth (CreateBoxUrlSettingsType0AuthType0 | None | Unset): `token` requires a token with `read` in the project.
            `public` allows anyone.
        wake (bool | None | Unset): Whether a request for one of its URLs starts the stopped box.
        idle_stop_seconds (int | None | Unset): Stops the box after this many seconds without requests for its URLs,
            commands, consoles or leases.
    """

    auth: CreateBoxUrlSettingsType0AuthType0 | None | Unset = UNSET
    wake: bool | None | Unset = UNSET
    idle_stop_seconds: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        auth: None | str | Unset
        if isinstance(self.auth, Unset):
            auth = UNSET
        elif isinstance(self.auth, CreateBoxUrlSettingsType0AuthType0):
            auth = CreateBoxUrlSettingsType0AuthType0(self.auth).value
        else:
            auth = self.auth

        wake: bool | None | Unset
        if isinstance(self.wake, Unset):
            wake = UNSET
        else:
            wake = self.wake

        idle_stop_seconds: int | None | Unset
        if isinstance(self.idle_stop_seconds, Unset):
            idle_stop_seconds = UNSET
        else:
            idle_stop_seconds = self.idle_stop_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if auth is not UNSET:
            field_dict["auth"] = auth
        if wake is not UNSET:
            field_dict["wake"] = wake
        if idle_stop_seconds is not UNSET:
            field_dict["idle_stop_seconds"] = idle_stop_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_auth(
            data: object,
        ) -> CreateBoxUrlSettingsType0AuthType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                auth_type_0 = CreateBoxUrlSettingsType0AuthType0(data)

                return auth_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CreateBoxUrlSettingsType0AuthType0 | None | Unset, data)

        auth = _parse_auth(d.pop("auth", UNSET))

        def _parse_wake(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        wake = _parse_wake(d.pop("wake", UNSET))

        def _parse_idle_stop_seconds(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        idle_stop_seconds = _parse_idle_stop_seconds(d.pop("idle_stop_seconds", UNSET))

        create_box_url_settings_type_0 = cls(
            auth=auth,
            wake=wake,
            idle_stop_seconds=idle_stop_seconds,
        )

        return create_box_url_settings_type_0
