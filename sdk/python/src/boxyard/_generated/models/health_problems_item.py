from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="HealthProblemsItem")


@_attrs_define
class HealthProblemsItem:
    """
    Attributes:
        code (str): Code of the problem, such as `disk_full`.
        evidence (str): Findings of the check.
        remedy (str): How to fix it.
    """

    code: str
    evidence: str
    remedy: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        code = self.code

        evidence = self.evidence

        remedy = self.remedy

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "code": code,
                "evidence": evidence,
                "remedy": remedy,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        code = d.pop("code")

        evidence = d.pop("evidence")

        remedy = d.pop("remedy")

        health_problems_item = cls(
            code=code,
            evidence=evidence,
            remedy=remedy,
        )

        health_problems_item.additional_properties = d
        return health_problems_item

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
