from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.snapshot_diff_changes_item_kind import SnapshotDiffChangesItemKind

T = TypeVar("T", bound="SnapshotDiffChangesItem")


@_attrs_define
class SnapshotDiffChangesItem:
    """
    Attributes:
        kind (SnapshotDiffChangesItemKind | str):
        path (str): Path in the later state, or the earlier path if deleted. U+FFFD replaces bytes that are not UTF-8.
        path_base64 (None | str): `path` in base64, if it is not UTF-8. Null otherwise.
        from_ (None | str): Earlier path if renamed, together with everything below it. Null otherwise.
        from_base64 (None | str): `from` in base64, if it is not UTF-8. Null otherwise.
        modified (bool): Whether a renamed entry was also modified.
        type_ (str): Type as in File, from the later state, or the earlier one if deleted.
        size_bytes (float): Size as in File, from the later state, or the earlier one if deleted.
    """

    kind: SnapshotDiffChangesItemKind | str
    path: str
    path_base64: None | str
    from_: None | str
    from_base64: None | str
    modified: bool
    type_: str
    size_bytes: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind: str
        if isinstance(self.kind, SnapshotDiffChangesItemKind):
            kind = SnapshotDiffChangesItemKind(self.kind).value
        else:
            kind = self.kind

        path = self.path

        path_base64: None | str
        path_base64 = self.path_base64

        from_: None | str
        from_ = self.from_

        from_base64: None | str
        from_base64 = self.from_base64

        modified = self.modified

        type_ = self.type_

        size_bytes = self.size_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "path": path,
                "path_base64": path_base64,
                "from": from_,
                "from_base64": from_base64,
                "modified": modified,
                "type": type_,
                "size_bytes": size_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_kind(data: object) -> SnapshotDiffChangesItemKind | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                kind_kind = SnapshotDiffChangesItemKind(data)

                return kind_kind
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(SnapshotDiffChangesItemKind | str, data)

        kind = _parse_kind(d.pop("kind"))

        path = d.pop("path")

        def _parse_path_base64(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        path_base64 = _parse_path_base64(d.pop("path_base64"))

        def _parse_from_(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        from_ = _parse_from_(d.pop("from"))

        def _parse_from_base64(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        from_base64 = _parse_from_base64(d.pop("from_base64"))

        modified = d.pop("modified")

        type_ = d.pop("type")

        size_bytes = d.pop("size_bytes")

        snapshot_diff_changes_item = cls(
            kind=kind,
            path=path,
            path_base64=path_base64,
            from_=from_,
            from_base64=from_base64,
            modified=modified,
            type_=type_,
            size_bytes=size_bytes,
        )

        snapshot_diff_changes_item.additional_properties = d
        return snapshot_diff_changes_item

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
