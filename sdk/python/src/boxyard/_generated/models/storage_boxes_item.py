from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.storage_boxes_item_snapshots_item import StorageBoxesItemSnapshotsItem


T = TypeVar("T", bound="StorageBoxesItem")


@_attrs_define
class StorageBoxesItem:
    """
    Attributes:
        project (str): A name, unique in its project.
        name (str): A name, unique in its project.
        size_bytes (float | None): Compressed size on disk of all its data, shared or not, in bytes. Null if it is
            missing, or was deleted during the request.
        unique_bytes (float | None): Bytes of `size_bytes` that nothing else shares. Deleting only this resource frees
            them.
        snapshots (list[StorageBoxesItemSnapshotsItem]):
    """

    project: str
    name: str
    size_bytes: float | None
    unique_bytes: float | None
    snapshots: list[StorageBoxesItemSnapshotsItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        project = self.project

        name = self.name

        size_bytes: float | None
        size_bytes = self.size_bytes

        unique_bytes: float | None
        unique_bytes = self.unique_bytes

        snapshots = []
        for snapshots_item_data in self.snapshots:
            snapshots_item = snapshots_item_data.to_dict()
            snapshots.append(snapshots_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "project": project,
                "name": name,
                "size_bytes": size_bytes,
                "unique_bytes": unique_bytes,
                "snapshots": snapshots,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.storage_boxes_item_snapshots_item import (
            StorageBoxesItemSnapshotsItem,
        )

        d = dict(src_dict)
        project = d.pop("project")

        name = d.pop("name")

        def _parse_size_bytes(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        size_bytes = _parse_size_bytes(d.pop("size_bytes"))

        def _parse_unique_bytes(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        unique_bytes = _parse_unique_bytes(d.pop("unique_bytes"))

        snapshots = []
        _snapshots = d.pop("snapshots")
        for snapshots_item_data in _snapshots:
            snapshots_item = StorageBoxesItemSnapshotsItem.from_dict(
                snapshots_item_data
            )

            snapshots.append(snapshots_item)

        storage_boxes_item = cls(
            project=project,
            name=name,
            size_bytes=size_bytes,
            unique_bytes=unique_bytes,
            snapshots=snapshots,
        )

        storage_boxes_item.additional_properties = d
        return storage_boxes_item

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
