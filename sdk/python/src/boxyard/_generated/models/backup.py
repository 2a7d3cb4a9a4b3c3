from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.backup_status import BackupStatus

T = TypeVar("T", bound="Backup")


@_attrs_define
class Backup:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        project (str): A name, unique in its project.
        volume (str): A name, unique in its project.
        snapshot (None | str): Name of the copy in the pool that the next backup builds on, or null if it is not kept.
            It is not a Snapshot of the API.
        location (str): Prefix of its object names in the backup store.
        size_bytes (int): Compressed size of its own objects, in bytes, without the backups it builds on.
        size_gb (float): Size of the volume at the time of the backup, in GiB.
        incremental_of (None | str): Backup it builds on. Null for a full backup.
        sha256 (None | str): SHA-256 digest of its manifest, which lists the digests of all parts. Null until the backup
            is done.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        status (BackupStatus | str): `running` includes time spent waiting for other backups.
        error (None | str): Why the backup failed. Null if it did not fail.
        automatic (bool): Whether the volume's schedule created it.
    """

    id: str
    project: str
    volume: str
    snapshot: None | str
    location: str
    size_bytes: int
    size_gb: float
    incremental_of: None | str
    sha256: None | str
    created_at: datetime.datetime
    status: BackupStatus | str
    error: None | str
    automatic: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        project = self.project

        volume = self.volume

        snapshot: None | str
        snapshot = self.snapshot

        location = self.location

        size_bytes = self.size_bytes

        size_gb = self.size_gb

        incremental_of: None | str
        incremental_of = self.incremental_of

        sha256: None | str
        sha256 = self.sha256

        created_at = self.created_at.isoformat()

        status: str
        if isinstance(self.status, BackupStatus):
            status = BackupStatus(self.status).value
        else:
            status = self.status

        error: None | str
        error = self.error

        automatic = self.automatic

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "project": project,
                "volume": volume,
                "snapshot": snapshot,
                "location": location,
                "size_bytes": size_bytes,
                "size_gb": size_gb,
                "incremental_of": incremental_of,
                "sha256": sha256,
                "created_at": created_at,
                "status": status,
                "error": error,
                "automatic": automatic,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        project = d.pop("project")

        volume = d.pop("volume")

        def _parse_snapshot(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        snapshot = _parse_snapshot(d.pop("snapshot"))

        location = d.pop("location")

        size_bytes = d.pop("size_bytes")

        size_gb = d.pop("size_gb")

        def _parse_incremental_of(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        incremental_of = _parse_incremental_of(d.pop("incremental_of"))

        def _parse_sha256(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        sha256 = _parse_sha256(d.pop("sha256"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_status(data: object) -> BackupStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_status = BackupStatus(data)

                return status_status
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BackupStatus | str, data)

        status = _parse_status(d.pop("status"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        error = _parse_error(d.pop("error"))

        automatic = d.pop("automatic")

        backup = cls(
            id=id,
            project=project,
            volume=volume,
            snapshot=snapshot,
            location=location,
            size_bytes=size_bytes,
            size_gb=size_gb,
            incremental_of=incremental_of,
            sha256=sha256,
            created_at=created_at,
            status=status,
            error=error,
            automatic=automatic,
        )

        backup.additional_properties = d
        return backup

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
