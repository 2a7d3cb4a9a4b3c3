from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.box_reason import BoxReason

T = TypeVar("T", bound="BoxState")


@_attrs_define
class BoxState:
    """
    Attributes:
        reason (BoxReason | str):
        message (None | str): Details of the reason, for people.
        since (datetime.datetime): RFC 3339 in UTC, with milliseconds.
    """

    reason: BoxReason | str
    message: None | str
    since: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        reason: str
        if isinstance(self.reason, BoxReason):
            reason = BoxReason(self.reason).value
        else:
            reason = self.reason

        message: None | str
        message = self.message

        since = self.since.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "reason": reason,
                "message": message,
                "since": since,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_reason(data: object) -> BoxReason | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reason_type_0 = BoxReason(data)

                return reason_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxReason | str, data)

        reason = _parse_reason(d.pop("reason"))

        def _parse_message(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        message = _parse_message(d.pop("message"))

        since = datetime.datetime.fromisoformat(d.pop("since"))

        box_state = cls(
            reason=reason,
            message=message,
            since=since,
        )

        box_state.additional_properties = d
        return box_state

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
