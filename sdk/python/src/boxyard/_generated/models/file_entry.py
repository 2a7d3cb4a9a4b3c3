from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.file_entry_type import FileEntryType

T = TypeVar("T", bound="FileEntry")


@_attrs_define
class FileEntry:
    """
    Attributes:
        path (str): Path in the box, or relative to the listed directory. U+FFFD replaces bytes that are not UTF-8.
        path_base64 (None | str): Path in base64, if it is not UTF-8. Null otherwise.
        type_ (FileEntryType | str):
        size_bytes (int): Size from lstat, in bytes. For a symbolic link, the length of its target.
        mode (str): Permission bits in octal, such as 0644.
        uid (int): User id of the owner, as the box sees it. 65534 if the box has no such id.
        gid (int): Group id, as the box sees it. 65534 if the box has no such id.
        modified_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        target (None | str): Target of a symbolic link. Null for other types.
        etag (str): Tag for `If-Match` and `If-None-Match`. Changes with the content or metadata.
    """

    path: str
    path_base64: None | str
    type_: FileEntryType | str
    size_bytes: int
    mode: str
    uid: int
    gid: int
    modified_at: datetime.datetime
    target: None | str
    etag: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        path = self.path

        path_base64: None | str
        path_base64 = self.path_base64

        type_: str
        if isinstance(self.type_, FileEntryType):
            type_ = FileEntryType(self.type_).value
        else:
            type_ = self.type_

        size_bytes = self.size_bytes

        mode = self.mode

        uid = self.uid

        gid = self.gid

        modified_at = self.modified_at.isoformat()

        target: None | str
        target = self.target

        etag = self.etag

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "path": path,
                "path_base64": path_base64,
                "type": type_,
                "size_bytes": size_bytes,
                "mode": mode,
                "uid": uid,
                "gid": gid,
                "modified_at": modified_at,
                "target": target,
                "etag": etag,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        path = d.pop("path")

        def _parse_path_base64(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        path_base64 = _parse_path_base64(d.pop("path_base64"))

        def _parse_type_(data: object) -> FileEntryType | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                type_type = FileEntryType(data)

                return type_type
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FileEntryType | str, data)

        type_ = _parse_type_(d.pop("type"))

        size_bytes = d.pop("size_bytes")

        mode = d.pop("mode")

        uid = d.pop("uid")

        gid = d.pop("gid")

        modified_at = datetime.datetime.fromisoformat(d.pop("modified_at"))

        def _parse_target(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        target = _parse_target(d.pop("target"))

        etag = d.pop("etag")

        file_entry = cls(
            path=path,
            path_base64=path_base64,
            type_=type_,
            size_bytes=size_bytes,
            mode=mode,
            uid=uid,
            gid=gid,
            modified_at=modified_at,
            target=target,
            etag=etag,
        )

        file_entry.additional_properties = d
        return file_entry

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
