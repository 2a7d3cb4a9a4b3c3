from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ServicePreviewLastExitType0")


@_attrs_define
class ServicePreviewLastExitType0:
    """
    Attributes:
        exit_code (int | None): Exit code. Null if a signal ended the process, or its end was not observed.
        signal (None | str): Signal that ended the process. Null if it exited, or its end was not observed.
        out_of_memory (bool): Whether the memory limit of the box killed it.
        at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
    """

    exit_code: int | None
    signal: None | str
    out_of_memory: bool
    at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        exit_code: int | None
        exit_code = self.exit_code

        signal: None | str
        signal = self.signal

        out_of_memory = self.out_of_memory

        at = self.at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "exit_code": exit_code,
                "signal": signal,
                "out_of_memory": out_of_memory,
                "at": at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_exit_code(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        exit_code = _parse_exit_code(d.pop("exit_code"))

        def _parse_signal(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        signal = _parse_signal(d.pop("signal"))

        out_of_memory = d.pop("out_of_memory")

        at = datetime.datetime.fromisoformat(d.pop("at"))

        service_preview_last_exit_type_0 = cls(
            exit_code=exit_code,
            signal=signal,
            out_of_memory=out_of_memory,
            at=at,
        )

        service_preview_last_exit_type_0.additional_properties = d
        return service_preview_last_exit_type_0

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
