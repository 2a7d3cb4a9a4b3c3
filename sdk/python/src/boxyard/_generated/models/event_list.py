from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.event import Event


T = TypeVar("T", bound="EventList")


@_attrs_define
class EventList:
    """
    Attributes:
        events (list[Event]):
        has_more (bool): Whether more events are available now.
        next_cursor (str): `since` for the next request. Present even if there are no events.
        missing_cells (list[str] | Unset): Cells of a fleet that cannot be reached now; absent if there are none. Their
            events appear on a later page, once the cells are reachable.
    """

    events: list[Event]
    has_more: bool
    next_cursor: str
    missing_cells: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        events = []
        for events_item_data in self.events:
            events_item = events_item_data.to_dict()
            events.append(events_item)

        has_more = self.has_more

        next_cursor = self.next_cursor

        missing_cells: list[str] | Unset = UNSET
        if not isinstance(self.missing_cells, Unset):
            missing_cells = self.missing_cells

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "events": events,
                "has_more": has_more,
                "next_cursor": next_cursor,
            }
        )
        if missing_cells is not UNSET:
            field_dict["missing_cells"] = missing_cells

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.event import Event

        d = dict(src_dict)
        events = []
        _events = d.pop("events")
        for events_item_data in _events:
            events_item = Event.from_dict(events_item_data)

            events.append(events_item)

        has_more = d.pop("has_more")

        next_cursor = d.pop("next_cursor")

        missing_cells = cast(list[str], d.pop("missing_cells", UNSET))

        event_list = cls(
            events=events,
            has_more=has_more,
            next_cursor=next_cursor,
            missing_cells=missing_cells,
        )

        event_list.additional_properties = d
        return event_list

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
