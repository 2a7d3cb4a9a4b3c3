from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.file_write_encoding import FileWriteEncoding
from ..types import UNSET, Unset

T = TypeVar("T", bound="FileWrite")


@_attrs_define
class FileWrite:
    """
    Attributes:
        content (str): Content of the file, in the given `encoding`.
        path (str | Unset): Absolute path in the box.
        path_base64 (str | Unset): Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the
            plain path.
        encoding (FileWriteEncoding | Unset): Encoding of `content`. Default: utf-8.
        mode (str | Unset): Permission bits in octal.
        parents (bool | Unset): Creates missing directories. Default: false.
    """

    content: str
    path: str | Unset = UNSET
    path_base64: str | Unset = UNSET
    encoding: FileWriteEncoding | str | Unset = UNSET
    mode: str | Unset = UNSET
    parents: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        content = self.content

        path = self.path

        path_base64 = self.path_base64

        encoding: str | Unset = UNSET
        if not isinstance(self.encoding, Unset):
            encoding = FileWriteEncoding(self.encoding).value

        mode = self.mode

        parents = self.parents

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "content": content,
            }
        )
        if path is not UNSET:
            field_dict["path"] = path
        if path_base64 is not UNSET:
            field_dict["path_base64"] = path_base64
        if encoding is not UNSET:
            field_dict["encoding"] = encoding
        if mode is not UNSET:
            field_dict["mode"] = mode
        if parents is not UNSET:
            field_dict["parents"] = parents

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        content = d.pop("content")

        path = d.pop("path", UNSET)

        path_base64 = d.pop("path_base64", UNSET)

        _encoding = d.pop("encoding", UNSET)
        encoding: FileWriteEncoding | Unset
        if isinstance(_encoding, Unset):
            encoding = UNSET
        else:
            encoding = FileWriteEncoding(_encoding)

        mode = d.pop("mode", UNSET)

        parents = d.pop("parents", UNSET)

        file_write = cls(
            content=content,
            path=path,
            path_base64=path_base64,
            encoding=encoding,
            mode=mode,
            parents=parents,
        )

        return file_write
