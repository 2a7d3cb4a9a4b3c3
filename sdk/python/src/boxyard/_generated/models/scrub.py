from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.scrub_status import ScrubStatus

T = TypeVar("T", bound="Scrub")


@_attrs_define
class Scrub:
    """
    Attributes:
        status (ScrubStatus | str): `failed`: the scrub could not run. `interrupted`: the agent ended during the scrub.
        started_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        ended_at (datetime.datetime | None): When the scrub ended. Null while it runs, and if the agent crashed during
            it.
        checked_bytes (float): Bytes of data and metadata checked so far. Valid for `running` and `done`.
        errors (float): Errors found so far: failed reads, wrong checksums, damaged metadata. Valid for `running` and
            `done`.
    """

    status: ScrubStatus | str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    checked_bytes: float
    errors: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str
        if isinstance(self.status, ScrubStatus):
            status = ScrubStatus(self.status).value
        else:
            status = self.status

        started_at = self.started_at.isoformat()

        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        checked_bytes = self.checked_bytes

        errors = self.errors

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "started_at": started_at,
                "ended_at": ended_at,
                "checked_bytes": checked_bytes,
                "errors": errors,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_status(data: object) -> ScrubStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_status = ScrubStatus(data)

                return status_status
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ScrubStatus | str, data)

        status = _parse_status(d.pop("status"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = datetime.datetime.fromisoformat(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        ended_at = _parse_ended_at(d.pop("ended_at"))

        checked_bytes = d.pop("checked_bytes")

        errors = d.pop("errors")

        scrub = cls(
            status=status,
            started_at=started_at,
            ended_at=ended_at,
            checked_bytes=checked_bytes,
            errors=errors,
        )

        scrub.additional_properties = d
        return scrub

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
