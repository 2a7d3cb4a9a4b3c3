from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.shares_additional_property_by_item import SharesAdditionalPropertyByItem
from ..models.shares_additional_property_rule import SharesAdditionalPropertyRule

T = TypeVar("T", bound="SharesAdditionalProperty")


@_attrs_define
class SharesAdditionalProperty:
    """
    Attributes:
        limit (str): Name of the limit in `limits`.
        by (list[SharesAdditionalPropertyByItem | str]): Accounts whose usage is added up. `token` means a token and all
            tokens created with it.
        rule (SharesAdditionalPropertyRule | str): `at_most_free`: No account may hold more than what is free, so one on
            its own gets half. `per_account`: The limit applies to each account separately. `fair_queue`: Waiting requests
            take turns, one per account. `evict_oldest`: Above the limit, the accounts with the most lose their oldest.
    """

    limit: str
    by: list[SharesAdditionalPropertyByItem | str]
    rule: SharesAdditionalPropertyRule | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        limit = self.limit

        by = []
        for by_item_data in self.by:
            by_item: str
            if isinstance(by_item_data, SharesAdditionalPropertyByItem):
                by_item = SharesAdditionalPropertyByItem(by_item_data).value
            else:
                by_item = by_item_data
            by.append(by_item)

        rule: str
        if isinstance(self.rule, SharesAdditionalPropertyRule):
            rule = SharesAdditionalPropertyRule(self.rule).value
        else:
            rule = self.rule

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "limit": limit,
                "by": by,
                "rule": rule,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        limit = d.pop("limit")

        by = []
        _by = d.pop("by")
        for by_item_data in _by:

            def _parse_by_item(data: object) -> SharesAdditionalPropertyByItem | str:
                try:
                    if not isinstance(data, str):
                        raise TypeError()
                    by_item_by_item = SharesAdditionalPropertyByItem(data)

                    return by_item_by_item
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                return cast(SharesAdditionalPropertyByItem | str, data)

            by_item = _parse_by_item(by_item_data)

            by.append(by_item)

        def _parse_rule(data: object) -> SharesAdditionalPropertyRule | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                rule_rule = SharesAdditionalPropertyRule(data)

                return rule_rule
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(SharesAdditionalPropertyRule | str, data)

        rule = _parse_rule(d.pop("rule"))

        shares_additional_property = cls(
            limit=limit,
            by=by,
            rule=rule,
        )

        shares_additional_property.additional_properties = d
        return shares_additional_property

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
