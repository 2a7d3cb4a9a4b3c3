from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.token import Token


T = TypeVar("T", bound="TokenList")


@_attrs_define
class TokenList:
    """
    Attributes:
        tokens (list[Token]):
        has_more (bool): Whether there is another page.
        next_continuation_token (None | str): `continuation_token` for the next page. Null on the last page.
    """

    tokens: list[Token]
    has_more: bool
    next_continuation_token: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        tokens = []
        for tokens_item_data in self.tokens:
            tokens_item = tokens_item_data.to_dict()
            tokens.append(tokens_item)

        has_more = self.has_more

        next_continuation_token: None | str
        next_continuation_token = self.next_continuation_token

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "tokens": tokens,
                "has_more": has_more,
                "next_continuation_token": next_continuation_token,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.token import Token

        d = dict(src_dict)
        tokens = []
        _tokens = d.pop("tokens")
        for tokens_item_data in _tokens:
            tokens_item = Token.from_dict(tokens_item_data)

            tokens.append(tokens_item)

        has_more = d.pop("has_more")

        def _parse_next_continuation_token(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_continuation_token = _parse_next_continuation_token(
            d.pop("next_continuation_token")
        )

        token_list = cls(
            tokens=tokens,
            has_more=has_more,
            next_continuation_token=next_continuation_token,
        )

        token_list.additional_properties = d
        return token_list

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
