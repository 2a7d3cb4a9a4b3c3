from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tags import Tags


T = TypeVar("T", bound="CreateVolume")


@_attrs_define
class CreateVolume:
    """
    Attributes:
        name (str): A name, unique in its project.
        size_gb (float | Unset): Size in GiB. Default: the size of the volume in `from`, or else the default of `GET
            /v1/config`.
        from_ (str | Unset): A name, unique in its project.
        from_snapshot (str | Unset): A name, unique in its project.
        from_backup (str | Unset): A type prefix, `_`, then 26 base32 characters that sort by time.
        tags (Tags | Unset): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
    """

    name: str
    size_gb: float | Unset = UNSET
    from_: str | Unset = UNSET
    from_snapshot: str | Unset = UNSET
    from_backup: str | Unset = UNSET
    tags: Tags | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        size_gb = self.size_gb

        from_ = self.from_

        from_snapshot = self.from_snapshot

        from_backup = self.from_backup

        tags: dict[str, Any] | Unset = UNSET
        if not isinstance(self.tags, Unset):
            tags = self.tags.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
            }
        )
        if size_gb is not UNSET:
            field_dict["size_gb"] = size_gb
        if from_ is not UNSET:
            field_dict["from"] = from_
        if from_snapshot is not UNSET:
            field_dict["from_snapshot"] = from_snapshot
        if from_backup is not UNSET:
            field_dict["from_backup"] = from_backup
        if tags is not UNSET:
            field_dict["tags"] = tags

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tags import Tags

        d = dict(src_dict)
        name = d.pop("name")

        size_gb = d.pop("size_gb", UNSET)

        from_ = d.pop("from", UNSET)

        from_snapshot = d.pop("from_snapshot", UNSET)

        from_backup = d.pop("from_backup", UNSET)

        _tags = d.pop("tags", UNSET)
        tags: Tags | Unset
        if isinstance(_tags, Unset):
            tags = UNSET
        else:
            tags = Tags.from_dict(_tags)

        create_volume = cls(
            name=name,
            size_gb=size_gb,
            from_=from_,
            from_snapshot=from_snapshot,
            from_backup=from_backup,
            tags=tags,
        )

        return create_volume
