from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.quota_allowed import QuotaAllowed
    from ..models.quota_used import QuotaUsed


T = TypeVar("T", bound="Quota")


@_attrs_define
class Quota:
    """
    Attributes:
        project (str): A name, unique in its project.
        allowed (QuotaAllowed): Quota of the project, null for unlimited. If it was never set, `defaults.quota` of `GET
            /v1/config` applies.
        used (QuotaUsed): Current usage that counts against the quota.
        updated_at (datetime.datetime | None): When the quota last changed. Null if it was never set.
    """

    project: str
    allowed: QuotaAllowed
    used: QuotaUsed
    updated_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        project = self.project

        allowed = self.allowed.to_dict()

        used = self.used.to_dict()

        updated_at: None | str
        if isinstance(self.updated_at, datetime.datetime):
            updated_at = self.updated_at.isoformat()
        else:
            updated_at = self.updated_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "project": project,
                "allowed": allowed,
                "used": used,
                "updated_at": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.quota_allowed import QuotaAllowed
        from ..models.quota_used import QuotaUsed

        d = dict(src_dict)
        project = d.pop("project")

        allowed = QuotaAllowed.from_dict(d.pop("allowed"))

        used = QuotaUsed.from_dict(d.pop("used"))

        def _parse_updated_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                updated_at_type_0 = datetime.datetime.fromisoformat(data)

                return updated_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        updated_at = _parse_updated_at(d.pop("updated_at"))

        quota = cls(
            project=project,
            allowed=allowed,
            used=used,
            updated_at=updated_at,
        )

        quota.additional_properties = d
        return quota

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
