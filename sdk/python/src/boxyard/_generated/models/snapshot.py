from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.snapshot_data_item import SnapshotDataItem


T = TypeVar("T", bound="Snapshot")


@_attrs_define
class Snapshot:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str): A name, unique in its project.
        project (str): A name, unique in its project.
        box (None | str): Box whose root the snapshot holds. Null for a snapshot of a volume.
        volume (None | str): Volume whose data the snapshot holds. Null for a snapshot of a box.
        comment (None | str):
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        size_bytes (int | None): Compressed size in bytes, including `data`. Null until it is counted.
        unique_bytes (int | None): Bytes that only this snapshot holds. Null in lists, and in the response that creates
            it.
        automatic (bool): Whether a restore created it, to keep the state that it replaced.
        data (list[SnapshotDataItem]): Data volumes of the box, captured at the same instant.
    """

    id: str
    name: str
    project: str
    box: None | str
    volume: None | str
    comment: None | str
    created_at: datetime.datetime
    size_bytes: int | None
    unique_bytes: int | None
    automatic: bool
    data: list[SnapshotDataItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        project = self.project

        box: None | str
        box = self.box

        volume: None | str
        volume = self.volume

        comment: None | str
        comment = self.comment

        created_at = self.created_at.isoformat()

        size_bytes: int | None
        size_bytes = self.size_bytes

        unique_bytes: int | None
        unique_bytes = self.unique_bytes

        automatic = self.automatic

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "project": project,
                "box": box,
                "volume": volume,
                "comment": comment,
                "created_at": created_at,
                "size_bytes": size_bytes,
                "unique_bytes": unique_bytes,
                "automatic": automatic,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.snapshot_data_item import SnapshotDataItem

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        project = d.pop("project")

        def _parse_box(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        box = _parse_box(d.pop("box"))

        def _parse_volume(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        volume = _parse_volume(d.pop("volume"))

        def _parse_comment(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        comment = _parse_comment(d.pop("comment"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_size_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        size_bytes = _parse_size_bytes(d.pop("size_bytes"))

        def _parse_unique_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        unique_bytes = _parse_unique_bytes(d.pop("unique_bytes"))

        automatic = d.pop("automatic")

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = SnapshotDataItem.from_dict(data_item_data)

            data.append(data_item)

        snapshot = cls(
            id=id,
            name=name,
            project=project,
            box=box,
            volume=volume,
            comment=comment,
            created_at=created_at,
            size_bytes=size_bytes,
            unique_bytes=unique_bytes,
            automatic=automatic,
            data=data,
        )

        snapshot.additional_properties = d
        return snapshot

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
