from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.base_used_by_type_0 import BaseUsedByType0
    from ..models.unpack_report import UnpackReport


T = TypeVar("T", bound="Base")


@_attrs_define
class Base:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str): A name, unique in its project.
        project (None | str): Project that owns the base. Null for a shared base.
        version (int): Increases by one with each base of this name, and is never reused.
        size_bytes (int | None): Compressed size, in bytes. Null until it is counted.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        source (str): `host`, `box:<name>`, `box:<name>@<snapshot>`, `tar`, `oci`, `oci:<reference>`.
        used_by (BaseUsedByType0 | None): The first 100 boxes in your projects that were created from the base. Null in
            lists.
        unpacked (UnpackReport | Unset):
    """

    id: str
    name: str
    project: None | str
    version: int
    size_bytes: int | None
    created_at: datetime.datetime
    source: str
    used_by: BaseUsedByType0 | None
    unpacked: UnpackReport | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.base_used_by_type_0 import BaseUsedByType0

        id = self.id

        name = self.name

        project: None | str
        project = self.project

        version = self.version

        size_bytes: int | None
        size_bytes = self.size_bytes

        created_at = self.created_at.isoformat()

        source = self.source

        used_by: dict[str, Any] | None
        if isinstance(self.used_by, BaseUsedByType0):
            used_by = self.used_by.to_dict()
        else:
            used_by = self.used_by

        unpacked: dict[str, Any] | Unset = UNSET
        if not isinstance(self.unpacked, Unset):
            unpacked = self.unpacked.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "project": project,
                "version": version,
                "size_bytes": size_bytes,
                "created_at": created_at,
                "source": source,
                "used_by": used_by,
            }
        )
        if unpacked is not UNSET:
            field_dict["unpacked"] = unpacked

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.base_used_by_type_0 import BaseUsedByType0
        from ..models.unpack_report import UnpackReport

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        def _parse_project(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        project = _parse_project(d.pop("project"))

        version = d.pop("version")

        def _parse_size_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        size_bytes = _parse_size_bytes(d.pop("size_bytes"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        source = d.pop("source")

        def _parse_used_by(data: object) -> BaseUsedByType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                used_by_type_0 = BaseUsedByType0.from_dict(data)

                return used_by_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BaseUsedByType0 | None, data)

        used_by = _parse_used_by(d.pop("used_by"))

        _unpacked = d.pop("unpacked", UNSET)
        unpacked: UnpackReport | Unset
        if isinstance(_unpacked, Unset):
            unpacked = UNSET
        else:
            unpacked = UnpackReport.from_dict(_unpacked)

        base = cls(
            id=id,
            name=name,
            project=project,
            version=version,
            size_bytes=size_bytes,
            created_at=created_at,
            source=source,
            used_by=used_by,
            unpacked=unpacked,
        )

        base.additional_properties = d
        return base

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
