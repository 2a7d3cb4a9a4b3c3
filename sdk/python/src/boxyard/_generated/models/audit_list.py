from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.audit_entry import AuditEntry


T = TypeVar("T", bound="AuditList")


@_attrs_define
class AuditList:
    """
    Attributes:
        entries (list[AuditEntry]):
        has_more (bool): Whether there is another page.
        next_continuation_token (None | str): `continuation_token` for the next page. Null on the last page.
        missing_cells (list[str] | Unset): Cells of a fleet that could not be reached at the first page or this one;
            absent if there are none. This page and later ones omit their entries.
    """

    entries: list[AuditEntry]
    has_more: bool
    next_continuation_token: None | str
    missing_cells: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        entries = []
        for entries_item_data in self.entries:
            entries_item = entries_item_data.to_dict()
            entries.append(entries_item)

        has_more = self.has_more

        next_continuation_token: None | str
        next_continuation_token = self.next_continuation_token

        missing_cells: list[str] | Unset = UNSET
        if not isinstance(self.missing_cells, Unset):
            missing_cells = self.missing_cells

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "entries": entries,
                "has_more": has_more,
                "next_continuation_token": next_continuation_token,
            }
        )
        if missing_cells is not UNSET:
            field_dict["missing_cells"] = missing_cells

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.audit_entry import AuditEntry

        d = dict(src_dict)
        entries = []
        _entries = d.pop("entries")
        for entries_item_data in _entries:
            entries_item = AuditEntry.from_dict(entries_item_data)

            entries.append(entries_item)

        has_more = d.pop("has_more")

        def _parse_next_continuation_token(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_continuation_token = _parse_next_continuation_token(
            d.pop("next_continuation_token")
        )

        missing_cells = cast(list[str], d.pop("missing_cells", UNSET))

        audit_list = cls(
            entries=entries,
            has_more=has_more,
            next_continuation_token=next_continuation_token,
            missing_cells=missing_cells,
        )

        audit_list.additional_properties = d
        return audit_list

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
