from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxMetricsNetworkType0")


@_attrs_define
class BoxMetricsNetworkType0:
    """
    Attributes:
        received_bytes (int): Bytes the box received.
        received_packets (int):
        sent_bytes (int): Bytes the box sent.
        sent_packets (int):
    """

    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        received_bytes = self.received_bytes

        received_packets = self.received_packets

        sent_bytes = self.sent_bytes

        sent_packets = self.sent_packets

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "received_bytes": received_bytes,
                "received_packets": received_packets,
                "sent_bytes": sent_bytes,
                "sent_packets": sent_packets,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        received_bytes = d.pop("received_bytes")

        received_packets = d.pop("received_packets")

        sent_bytes = d.pop("sent_bytes")

        sent_packets = d.pop("sent_packets")

        box_metrics_network_type_0 = cls(
            received_bytes=received_bytes,
            received_packets=received_packets,
            sent_bytes=sent_bytes,
            sent_packets=sent_packets,
        )

        box_metrics_network_type_0.additional_properties = d
        return box_metrics_network_type_0

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
