from __future__ import annotations

from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    Self,
    TypeVar,
    cast,
)

from attrs import define as _attrs_define

from ..models.permission import Permission
from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateToken")


@_attrs_define
class CreateToken:
    """
    Attributes:
        name (str): A name, unique in its project.
        projects (list[str] | Literal['*']): Project names, or `*` for all projects.
        permissions (list[Permission]): Permissions of the token.
        expires_in_seconds (int | None | Unset): Seconds until the token expires. If null or absent, it expires with the
            token that creates it.
    """

    name: str
    projects: list[str] | Literal["*"]
    permissions: list[Permission] | list[str]
    expires_in_seconds: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        projects: list[str] | Literal["*"]
        if isinstance(self.projects, list):
            projects = self.projects

        else:
            projects = self.projects

        permissions = []
        for permissions_item_data in self.permissions:
            permissions_item = Permission(permissions_item_data).value
            permissions.append(permissions_item)

        expires_in_seconds: int | None | Unset
        if isinstance(self.expires_in_seconds, Unset):
            expires_in_seconds = UNSET
        else:
            expires_in_seconds = self.expires_in_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "projects": projects,
                "permissions": permissions,
            }
        )
        if expires_in_seconds is not UNSET:
            field_dict["expires_in_seconds"] = expires_in_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
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
            permissions_item = Permission(permissions_item_data)

            permissions.append(permissions_item)

        def _parse_expires_in_seconds(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expires_in_seconds = _parse_expires_in_seconds(
            d.pop("expires_in_seconds", UNSET)
        )

        create_token = cls(
            name=name,
            projects=projects,
            permissions=permissions,
            expires_in_seconds=expires_in_seconds,
        )

        return create_token
