from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.exec_signal_signal import ExecSignalSignal

T = TypeVar("T", bound="ExecSignal")


@_attrs_define
class ExecSignal:
    """
    Attributes:
        signal (ExecSignalSignal): Signal to send.
    """

    signal: ExecSignalSignal | str

    def to_dict(self) -> dict[str, Any]:
        signal = ExecSignalSignal(self.signal).value

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "signal": signal,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        signal = ExecSignalSignal(d.pop("signal"))

        exec_signal = cls(
            signal=signal,
        )

        return exec_signal
