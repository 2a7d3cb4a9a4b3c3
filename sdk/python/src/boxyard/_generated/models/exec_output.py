from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

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
        stream (ExecOutputStream):
        offset (int): Offset of the first byte of `data`, in bytes; later than requested if that is no longer kept.
        next_offset (int): Offset of the next request.
        data (str): Output from `offset` on, encoded as `encoding` says.
        encoding (ExecOutputEncoding): In `utf-8`, U+FFFD replaces bytes that are not UTF-8.
        truncated (bool): Bytes from the requested offset on are no longer kept.
        end (bool): No output follows `next_offset`.
        status (ExecStatus): `killed`: ended by a signal; `timed_out`, `out_of_memory`: killed for that; `lost`: its end
            was not observed.
    """

    stream: ExecOutputStream
    offset: int
    next_offset: int
    data: str
    encoding: ExecOutputEncoding
    truncated: bool
    end: bool
    status: ExecStatus
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        stream = self.stream.value

        offset = self.offset

        next_offset = self.next_offset

        data = self.data

        encoding = self.encoding.value

        truncated = self.truncated

        end = self.end

        status = self.status.value

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
        stream = ExecOutputStream(d.pop("stream"))

        offset = d.pop("offset")

        next_offset = d.pop("next_offset")

        data = d.pop("data")

        encoding = ExecOutputEncoding(d.pop("encoding"))

        truncated = d.pop("truncated")

        end = d.pop("end")

        status = ExecStatus(d.pop("status"))

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
