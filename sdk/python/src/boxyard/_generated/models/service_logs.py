from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.service_logs_encoding import ServiceLogsEncoding

T = TypeVar("T", bound="ServiceLogs")


@_attrs_define
class ServiceLogs:
    """
    Attributes:
        offset (int): Offset of the first byte of `data`, in bytes. Later than requested if those bytes are no longer
            kept.
        next_offset (int): Offset for the next request, in bytes.
        data (str): Output from `offset`, in the given `encoding`.
        encoding (ServiceLogsEncoding | str): In `utf-8`, U+FFFD replaces invalid bytes.
        truncated (bool): Whether bytes after the requested offset are no longer kept.
    """

    offset: int
    next_offset: int
    data: str
    encoding: ServiceLogsEncoding | str
    truncated: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        offset = self.offset

        next_offset = self.next_offset

        data = self.data

        encoding: str
        if isinstance(self.encoding, ServiceLogsEncoding):
            encoding = ServiceLogsEncoding(self.encoding).value
        else:
            encoding = self.encoding

        truncated = self.truncated

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "offset": offset,
                "next_offset": next_offset,
                "data": data,
                "encoding": encoding,
                "truncated": truncated,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        offset = d.pop("offset")

        next_offset = d.pop("next_offset")

        data = d.pop("data")

        def _parse_encoding(data: object) -> ServiceLogsEncoding | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                encoding_encoding = ServiceLogsEncoding(data)

                return encoding_encoding
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServiceLogsEncoding | str, data)

        encoding = _parse_encoding(d.pop("encoding"))

        truncated = d.pop("truncated")

        service_logs = cls(
            offset=offset,
            next_offset=next_offset,
            data=data,
            encoding=encoding,
            truncated=truncated,
        )

        service_logs.additional_properties = d
        return service_logs

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
