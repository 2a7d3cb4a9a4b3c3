from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.update_quota_allowed_type_0 import UpdateQuotaAllowedType0
    from ..models.update_quota_used import UpdateQuotaUsed


T = TypeVar("T", bound="UpdateQuota")


@_attrs_define
class UpdateQuota:
    """
    Attributes:
        allowed (None | Unset | UpdateQuotaAllowedType0): Quota to set. An absent field keeps its value, and null means
            unlimited.
        used (UpdateQuotaUsed | Unset): Read-only. You may send back the value that you read.
        project (Any | Unset): Read-only. You may send it back unchanged.
        updated_at (Any | Unset): Read-only. You may send it back unchanged.
    """

    allowed: None | Unset | UpdateQuotaAllowedType0 = UNSET
    used: UpdateQuotaUsed | Unset = UNSET
    project: Any | Unset = UNSET
    updated_at: Any | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.update_quota_allowed_type_0 import UpdateQuotaAllowedType0

        allowed: dict[str, Any] | None | Unset
        if isinstance(self.allowed, Unset):
            allowed = UNSET
        elif isinstance(self.allowed, UpdateQuotaAllowedType0):
            allowed = self.allowed.to_dict()
        else:
            allowed = self.allowed

        used: dict[str, Any] | Unset = UNSET
        if not isinstance(self.used, Unset):
            used = self.used.to_dict()

        project = self.project

        updated_at = self.updated_at

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if allowed is not UNSET:
            field_dict["allowed"] = allowed
        if used is not UNSET:
            field_dict["used"] = used
        if project is not UNSET:
            field_dict["project"] = project
        if updated_at is not UNSET:
            field_dict["updated_at"] = updated_at

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.update_quota_allowed_type_0 import UpdateQuotaAllowedType0
        from ..models.update_quota_used import UpdateQuotaUsed

        d = dict(src_dict)

        def _parse_allowed(data: object) -> None | Unset | UpdateQuotaAllowedType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                allowed_type_0 = UpdateQuotaAllowedType0.from_dict(data)

                return allowed_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UpdateQuotaAllowedType0, data)

        allowed = _parse_allowed(d.pop("allowed", UNSET))

        _used = d.pop("used", UNSET)
        used: UpdateQuotaUsed | Unset
        if isinstance(_used, Unset):
            used = UNSET
        else:
            used = UpdateQuotaUsed.from_dict(_used)

        project = d.pop("project", UNSET)

        updated_at = d.pop("updated_at", UNSET)

        update_quota = cls(
            allowed=allowed,
            used=used,
            project=project,
            updated_at=updated_at,
        )

        return update_quota
