from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ServiceHistoryItem")


@_attrs_define
class ServiceHistoryItem:
    """
    Attributes:
        at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        action (str): `created`, `changed`, `started`, `stopped`, `deployed`, `promoted`, `rolled_back`, `discarded`,
            `preview_failed`, `promote_failed` or `rollback_failed`.
        actor (None | str): Name of the token that made the change. Null if no request made it.
        generation (int): `generation` after the change.
    """

    at: datetime.datetime
    action: str
    actor: None | str
    generation: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        action = self.action

        actor: None | str
        actor = self.actor

        generation = self.generation

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "action": action,
                "actor": actor,
                "generation": generation,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        at = datetime.datetime.fromisoformat(d.pop("at"))

        action = d.pop("action")

        def _parse_actor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        actor = _parse_actor(d.pop("actor"))

        generation = d.pop("generation")

        service_history_item = cls(
            at=at,
            action=action,
            actor=actor,
            generation=generation,
        )

        service_history_item.additional_properties = d
        return service_history_item

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
