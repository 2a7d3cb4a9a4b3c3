from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tags import Tags


T = TypeVar("T", bound="UpdateVolume")


@_attrs_define
class UpdateVolume:
    """
    Attributes:
        size_gb (float | None | Unset): Capacity in GiB. Null resets it to the default.
        tags (None | Tags | Unset):
        used_bytes (int | None | Unset): Read-only. You may send back the value that you read.
        id (Any | Unset): Read-only. You may send it back unchanged.
        name (Any | Unset): Read-only. You may send it back unchanged.
        project (Any | Unset): Read-only. You may send it back unchanged.
        created_at (Any | Unset): Read-only. You may send it back unchanged.
        updated_at (Any | Unset): Read-only. You may send it back unchanged.
        attachments (Any | Unset): Read-only. You may send it back unchanged.
        from_ (Any | Unset): Read-only. You may send it back unchanged.
        backup_schedule (Any | Unset): Read-only. You may send it back unchanged.
    """

    size_gb: float | None | Unset = UNSET
    tags: None | Tags | Unset = UNSET
    used_bytes: int | None | Unset = UNSET
    id: Any | Unset = UNSET
    name: Any | Unset = UNSET
    project: Any | Unset = UNSET
    created_at: Any | Unset = UNSET
    updated_at: Any | Unset = UNSET
    attachments: Any | Unset = UNSET
    from_: Any | Unset = UNSET
    backup_schedule: Any | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.tags import Tags

        size_gb: float | None | Unset
        if isinstance(self.size_gb, Unset):
            size_gb = UNSET
        else:
            size_gb = self.size_gb

        tags: dict[str, Any] | None | Unset
        if isinstance(self.tags, Unset):
            tags = UNSET
        elif isinstance(self.tags, Tags):
            tags = self.tags.to_dict()
        else:
            tags = self.tags

        used_bytes: int | None | Unset
        if isinstance(self.used_bytes, Unset):
            used_bytes = UNSET
        else:
            used_bytes = self.used_bytes

        id = self.id

        name = self.name

        project = self.project

        created_at = self.created_at

        updated_at = self.updated_at

        attachments = self.attachments

        from_ = self.from_

        backup_schedule = self.backup_schedule

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if size_gb is not UNSET:
            field_dict["size_gb"] = size_gb
        if tags is not UNSET:
            field_dict["tags"] = tags
        if used_bytes is not UNSET:
            field_dict["used_bytes"] = used_bytes
        if id is not UNSET:
            field_dict["id"] = id
        if name is not UNSET:
            field_dict["name"] = name
        if project is not UNSET:
            field_dict["project"] = project
        if created_at is not UNSET:
            field_dict["created_at"] = created_at
        if updated_at is not UNSET:
            field_dict["updated_at"] = updated_at
        if attachments is not UNSET:
            field_dict["attachments"] = attachments
        if from_ is not UNSET:
            field_dict["from"] = from_
        if backup_schedule is not UNSET:
            field_dict["backup_schedule"] = backup_schedule

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tags import Tags

        d = dict(src_dict)

        def _parse_size_gb(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        size_gb = _parse_size_gb(d.pop("size_gb", UNSET))

        def _parse_tags(data: object) -> None | Tags | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                tags_type_0 = Tags.from_dict(data)

                return tags_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Tags | Unset, data)

        tags = _parse_tags(d.pop("tags", UNSET))

        def _parse_used_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        used_bytes = _parse_used_bytes(d.pop("used_bytes", UNSET))

        id = d.pop("id", UNSET)

        name = d.pop("name", UNSET)

        project = d.pop("project", UNSET)

        created_at = d.pop("created_at", UNSET)

        updated_at = d.pop("updated_at", UNSET)

        attachments = d.pop("attachments", UNSET)

        from_ = d.pop("from", UNSET)

        backup_schedule = d.pop("backup_schedule", UNSET)

        update_volume = cls(
            size_gb=size_gb,
            tags=tags,
            used_bytes=used_bytes,
            id=id,
            name=name,
            project=project,
            created_at=created_at,
            updated_at=updated_at,
            attachments=attachments,
            from_=from_,
            backup_schedule=backup_schedule,
        )

        return update_volume
