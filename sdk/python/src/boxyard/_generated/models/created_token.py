from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    Self,
    TypeVar,
    cast,
)

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission import Permission
from ..types import UNSET, Unset

T = TypeVar("T", bound="CreatedToken")


@_attrs_define
class CreatedToken:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str):
        projects (list[str] | Literal['*']): Project names, or `*` for all projects.
        permissions (list[Permission | str]):
        expires_at (datetime.datetime | None): When the token expires. Null if it never does.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        created_by (None | str): Token that created this one. Null if it was created on the host of the agent.
        is_session (bool): Whether this is a session of the web console.
        session (None | str): Web console session that created the token, or null. Revoking the session also revokes
            this token, but signing out or expiry does not.
        revoked_at (datetime.datetime | None): When the token was revoked, directly or with the token that created it,
            or for a session, when it signed out. Null if it is not revoked.
        token (str | Unset): The bearer token. Returned only once, and absent in a replay.
    """

    id: str
    name: str
    projects: list[str] | Literal["*"]
    permissions: list[Permission | str]
    expires_at: datetime.datetime | None
    created_at: datetime.datetime
    created_by: None | str
    is_session: bool
    session: None | str
    revoked_at: datetime.datetime | None
    token: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        projects: list[str] | Literal["*"]
        if isinstance(self.projects, list):
            projects = self.projects

        else:
            projects = self.projects

        permissions = []
        for permissions_item_data in self.permissions:
            permissions_item: str
            if isinstance(permissions_item_data, Permission):
                permissions_item = Permission(permissions_item_data).value
            else:
                permissions_item = permissions_item_data
            permissions.append(permissions_item)

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        created_at = self.created_at.isoformat()

        created_by: None | str
        created_by = self.created_by

        is_session = self.is_session

        session: None | str
        session = self.session

        revoked_at: None | str
        if isinstance(self.revoked_at, datetime.datetime):
            revoked_at = self.revoked_at.isoformat()
        else:
            revoked_at = self.revoked_at

        token = self.token

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "projects": projects,
                "permissions": permissions,
                "expires_at": expires_at,
                "created_at": created_at,
                "created_by": created_by,
                "is_session": is_session,
                "session": session,
                "revoked_at": revoked_at,
            }
        )
        if token is not UNSET:
            field_dict["token"] = token

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        def _parse_projects(data: object) -> list[str] | Literal["*"]:
            componentsschemas_token_projects_type_0 = cast(Literal["*"], data)
            if componentsschemas_token_projects_type_0 != "*":
                raise ValueError(
                    f"/components/schemas/TokenProjects_type_0 must match const '*', got '{componentsschemas_token_projects_type_0}'"
                )
            return componentsschemas_token_projects_type_0
            if not isinstance(data, list):
                raise TypeError()
            componentsschemas_token_projects_type_1 = cast(list[str], data)

            return componentsschemas_token_projects_type_1

        projects = _parse_projects(d.pop("projects"))

        permissions = []
        _permissions = d.pop("permissions")
        for permissions_item_data in _permissions:

            def _parse_permissions_item(data: object) -> Permission | str:
                try:
                    if not isinstance(data, str):
                        raise TypeError()
                    permissions_item_type_0 = Permission(data)

                    return permissions_item_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                return cast(Permission | str, data)

            permissions_item = _parse_permissions_item(permissions_item_data)

            permissions.append(permissions_item)

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_created_by(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        created_by = _parse_created_by(d.pop("created_by"))

        is_session = d.pop("is_session")

        def _parse_session(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        session = _parse_session(d.pop("session"))

        def _parse_revoked_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                revoked_at_type_0 = datetime.datetime.fromisoformat(data)

                return revoked_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        revoked_at = _parse_revoked_at(d.pop("revoked_at"))

        token = d.pop("token", UNSET)

        created_token = cls(
            id=id,
            name=name,
            projects=projects,
            permissions=permissions,
            expires_at=expires_at,
            created_at=created_at,
            created_by=created_by,
            is_session=is_session,
            session=session,
            revoked_at=revoked_at,
            token=token,
        )

        created_token.additional_properties = d
        return created_token

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
