from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Self,
    TypeVar,
    cast,
)

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission import Permission

if TYPE_CHECKING:
    from ..models.me_on_behalf_of_type_0 import MeOnBehalfOfType0


T = TypeVar("T", bound="Me")


@_attrs_define
class Me:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str):
        projects (list[str] | Literal['*']): Project names, or `*` for all projects.
        permissions (list[Permission | str]):
        expires_at (datetime.datetime | None): When the token expires. Null if it never does.
        on_behalf_of (MeOnBehalfOfType0 | None): For a web console session, the token behind it, which creates, lists
            and revokes tokens on its behalf. Null if this is not a session.
    """

    id: str
    name: str
    projects: list[str] | Literal["*"]
    permissions: list[Permission | str]
    expires_at: datetime.datetime | None
    on_behalf_of: MeOnBehalfOfType0 | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.me_on_behalf_of_type_0 import MeOnBehalfOfType0

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

        on_behalf_of: dict[str, Any] | None
        if isinstance(self.on_behalf_of, MeOnBehalfOfType0):
            on_behalf_of = self.on_behalf_of.to_dict()
        else:
            on_behalf_of = self.on_behalf_of

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "projects": projects,
                "permissions": permissions,
                "expires_at": expires_at,
                "on_behalf_of": on_behalf_of,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.me_on_behalf_of_type_0 import MeOnBehalfOfType0

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

        def _parse_on_behalf_of(data: object) -> MeOnBehalfOfType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                on_behalf_of_type_0 = MeOnBehalfOfType0.from_dict(data)

                return on_behalf_of_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MeOnBehalfOfType0 | None, data)

        on_behalf_of = _parse_on_behalf_of(d.pop("on_behalf_of"))

        me = cls(
            id=id,
            name=name,
            projects=projects,
            permissions=permissions,
            expires_at=expires_at,
            on_behalf_of=on_behalf_of,
        )

        me.additional_properties = d
        return me

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
