from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.exec_output_encoding import ExecOutputEncoding
from ..models.exec_output_stream import ExecOutputStream
from ..models.exec_status import ExecStatus

T = TypeVar("T", bound="ExecOutput")


@_attrs_define
class ExecOutput:
    """
    Attributes:
        stream (ExecOutputStream | str):
        offset (int): Offset of the first byte of `data`, in bytes. Later than requested if those bytes are no longer
            kept.
        next_offset (int): Offset for the next request, in bytes.
        data (str): Output from `offset`, in the given `encoding`.
        encoding (ExecOutputEncoding | str): In `utf-8`, U+FFFD replaces invalid bytes.
        truncated (bool): Whether bytes after the requested offset are no longer kept.
        end (bool): Whether the stream has ended at `next_offset`.
        status (ExecStatus | str):
    """

    stream: ExecOutputStream | str
    offset: int
    next_offset: int
    data: str
    encoding: ExecOutputEncoding | str
    truncated: bool
    end: bool
    status: ExecStatus | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        stream: str
        if isinstance(self.stream, ExecOutputStream):
            stream = ExecOutputStream(self.stream).value
        else:
            stream = self.stream

        offset = self.offset

        next_offset = self.next_offset

        data = self.data

        encoding: str
        if isinstance(self.encoding, ExecOutputEncoding):
            encoding = ExecOutputEncoding(self.encoding).value
        else:
            encoding = self.encoding

        truncated = self.truncated

        end = self.end

        status: str
        if isinstance(self.status, ExecStatus):
            status = ExecStatus(self.status).value
        else:
            status = self.status

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "stream": stream,
                "offset": offset,
                "next_offset": next_offset,
                "data": data,
                "encoding": encoding,
                "truncated": truncated,
                "end": end,
                "status": status,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_stream(data: object) -> ExecOutputStream | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                stream_stream = ExecOutputStream(data)

                return stream_stream
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecOutputStream | str, data)

        stream = _parse_stream(d.pop("stream"))

        offset = d.pop("offset")

        next_offset = d.pop("next_offset")

        data = d.pop("data")

        def _parse_encoding(data: object) -> ExecOutputEncoding | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                encoding_encoding = ExecOutputEncoding(data)

                return encoding_encoding
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecOutputEncoding | str, data)

        encoding = _parse_encoding(d.pop("encoding"))

        truncated = d.pop("truncated")

        end = d.pop("end")

        def _parse_status(data: object) -> ExecStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_type_0 = ExecStatus(data)

                return status_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecStatus | str, data)

        status = _parse_status(d.pop("status"))

        exec_output = cls(
            stream=stream,
            offset=offset,
            next_offset=next_offset,
            data=data,
            encoding=encoding,
            truncated=truncated,
            end=end,
            status=status,
        )

        exec_output.additional_properties = d
        return exec_output

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
