from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.tags import Tags
    from ..models.volume_attachments_item import VolumeAttachmentsItem
    from ..models.volume_backup_schedule_type_0 import VolumeBackupScheduleType0


T = TypeVar("T", bound="Volume")


@_attrs_define
class Volume:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str): A name, unique in its project.
        project (str): A name, unique in its project.
        size_gb (float): Capacity in GiB, compressed.
        used_bytes (int | None): Bytes that count against `size_gb`, measured at the time of the request; null if the
            data is missing. They include data that only its snapshots keep, but not data inherited from a copied or
            restored volume.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        updated_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        attachments (list[VolumeAttachmentsItem]): Boxes it is attached to. At most one can write.
        from_ (None | str): Source of the volume: `name`, `name@snapshot` or `backup:<id>`. Null if it was created
            empty.
        backup_schedule (None | VolumeBackupScheduleType0): Schedule of automatic backups. Null for none.
        tags (Tags): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
    """

    id: str
    name: str
    project: str
    size_gb: float
    used_bytes: int | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    attachments: list[VolumeAttachmentsItem]
    from_: None | str
    backup_schedule: None | VolumeBackupScheduleType0
    tags: Tags
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.volume_backup_schedule_type_0 import VolumeBackupScheduleType0

        id = self.id

        name = self.name

        project = self.project

        size_gb = self.size_gb

        used_bytes: int | None
        used_bytes = self.used_bytes

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        attachments = []
        for attachments_item_data in self.attachments:
            attachments_item = attachments_item_data.to_dict()
            attachments.append(attachments_item)

        from_: None | str
        from_ = self.from_

        backup_schedule: dict[str, Any] | None
        if isinstance(self.backup_schedule, VolumeBackupScheduleType0):
            backup_schedule = self.backup_schedule.to_dict()
        else:
            backup_schedule = self.backup_schedule

        tags = self.tags.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "project": project,
                "size_gb": size_gb,
                "used_bytes": used_bytes,
                "created_at": created_at,
                "updated_at": updated_at,
                "attachments": attachments,
                "from": from_,
                "backup_schedule": backup_schedule,
                "tags": tags,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tags import Tags
        from ..models.volume_attachments_item import VolumeAttachmentsItem
        from ..models.volume_backup_schedule_type_0 import VolumeBackupScheduleType0

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        project = d.pop("project")

        size_gb = d.pop("size_gb")

        def _parse_used_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        used_bytes = _parse_used_bytes(d.pop("used_bytes"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        attachments = []
        _attachments = d.pop("attachments")
        for attachments_item_data in _attachments:
            attachments_item = VolumeAttachmentsItem.from_dict(attachments_item_data)

            attachments.append(attachments_item)

        def _parse_from_(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        from_ = _parse_from_(d.pop("from"))

        def _parse_backup_schedule(data: object) -> None | VolumeBackupScheduleType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                backup_schedule_type_0 = VolumeBackupScheduleType0.from_dict(data)

                return backup_schedule_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | VolumeBackupScheduleType0, data)

        backup_schedule = _parse_backup_schedule(d.pop("backup_schedule"))

        tags = Tags.from_dict(d.pop("tags"))

        volume = cls(
            id=id,
            name=name,
            project=project,
            size_gb=size_gb,
            used_bytes=used_bytes,
            created_at=created_at,
            updated_at=updated_at,
            attachments=attachments,
            from_=from_,
            backup_schedule=backup_schedule,
            tags=tags,
        )

        volume.additional_properties = d
        return volume

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
