from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ProblemType")


@_attrs_define
class ProblemType:
    """
    Attributes:
        type_ (str): The `type` of problems with this code, a path at the origin that answered.
        code (str):
        title (str):
        status (int): HTTP status of responses with this code.
        retryable (bool): Whether the same request may succeed later.
        meaning (str):
        remedy (str): Remedy for clients.
        catalogue (str): Path of the list of all codes.
    """

    type_: str
    code: str
    title: str
    status: int
    retryable: bool
    meaning: str
    remedy: str
    catalogue: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        code = self.code

        title = self.title

        status = self.status

        retryable = self.retryable

        meaning = self.meaning

        remedy = self.remedy

        catalogue = self.catalogue

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "code": code,
                "title": title,
                "status": status,
                "retryable": retryable,
                "meaning": meaning,
                "remedy": remedy,
                "catalogue": catalogue,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        type_ = d.pop("type")

        code = d.pop("code")

        title = d.pop("title")

        status = d.pop("status")

        retryable = d.pop("retryable")

        meaning = d.pop("meaning")

        remedy = d.pop("remedy")

        catalogue = d.pop("catalogue")

        problem_type = cls(
            type_=type_,
            code=code,
            title=title,
            status=status,
            retryable=retryable,
            meaning=meaning,
            remedy=remedy,
            catalogue=catalogue,
        )

        problem_type.additional_properties = d
        return problem_type

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
