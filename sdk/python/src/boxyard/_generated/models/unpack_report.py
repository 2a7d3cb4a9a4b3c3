from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.unpack_report_refused_item import UnpackReportRefusedItem


T = TypeVar("T", bound="UnpackReport")


@_attrs_define
class UnpackReport:
    """
    Attributes:
        entries (int): Number of files, directories and links created.
        refused (list[UnpackReportRefusedItem]): The first 1,000 refused entries with reasons.
        refused_count (int): Total number of refused entries.
    """

    entries: int
    refused: list[UnpackReportRefusedItem]
    refused_count: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        entries = self.entries

        refused = []
        for refused_item_data in self.refused:
            refused_item = refused_item_data.to_dict()
            refused.append(refused_item)

        refused_count = self.refused_count

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "entries": entries,
                "refused": refused,
                "refused_count": refused_count,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.unpack_report_refused_item import UnpackReportRefusedItem

        d = dict(src_dict)
        entries = d.pop("entries")

        refused = []
        _refused = d.pop("refused")
        for refused_item_data in _refused:
            refused_item = UnpackReportRefusedItem.from_dict(refused_item_data)

            refused.append(refused_item)

        refused_count = d.pop("refused_count")

        unpack_report = cls(
            entries=entries,
            refused=refused,
            refused_count=refused_count,
        )

        unpack_report.additional_properties = d
        return unpack_report

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
