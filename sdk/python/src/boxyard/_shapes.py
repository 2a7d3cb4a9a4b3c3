"""Checks types in answers, because the generated parsers accept any JSON in place of a text or a number."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from ._generated import models

#: Raises ``ValueError`` with the place and the expected kind.
Check = Callable[[object, str], None]


def check_shape(value: object) -> None:
    """Checks an answer of the API against the types of its class. Raises ``ValueError``. Accepts everything without a generated class."""
    kind: Any = type(value)
    if _is_model(kind):
        _check_of(kind)(value, "")


@functools.cache
def _fields_of(kind: type) -> list[tuple[str, Check]]:
    hints = get_type_hints(kind, localns=vars(models))
    # Unknown fields, of a newer service, can have any type.
    return [(field.name, _check_of(hints[field.name])) for field in attrs.fields(kind) if field.name != "additional_properties"]


@functools.cache
def _check_of(kind: Any) -> Check:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return _take
    if origin is Literal:
        return _named(lambda value: value in args, "one of its values")
    if origin is Union or origin is types.UnionType:
        return _union(kind)
    if origin is list:
        return _list(_check_of(args[0]))
    if origin is dict:
        return _dict(_check_of(args[1]))
    if _is_model(kind):
        return _model(kind)
    return _plain(kind)


def _plain(kind: type) -> Check:
    if kind is float:
        return _named(lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number")
    if kind is int:
        return _named(lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number")
    return _named(lambda value: isinstance(value, kind), _NAMES.get(kind, f"a {kind.__name__}"))


def _union(kind: Any) -> Check:
    members = [_check_of(each) for each in get_args(kind)]

    def check(value: object, place: str) -> None:
        for member in members:
            try:
                return member(value, place)
            except ValueError as error:
                fault = error
        raise fault

    return check


def _list(element: Check) -> Check:
    def check(value: object, place: str) -> None:
        if not isinstance(value, list):
            raise ValueError(f"{place} is not a list.")
        for index, each in enumerate(value):
            element(each, f"{place}[{index}]")

    return check


def _dict(element: Check) -> Check:
    def check(value: object, place: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{place} is not an object.")
        for key, each in value.items():
            element(each, f"{place}.{key}")

    return check


def _model(kind: type) -> Check:
    def check(value: object, place: str) -> None:
        if not isinstance(value, kind):
            raise ValueError(f"{place} is not a {kind.__name__}.")
        for name, field in _fields_of(kind):
            field(getattr(value, name), f"{place}.{name}" if place else name)

    return check


def _named(holds: Callable[[object], bool], name: str) -> Check:
    def check(value: object, place: str) -> None:
        if not holds(value):
            raise ValueError(f"{place} is not {name}.")

    return check


def _take(_value: object, _place: str) -> None:
    return None


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and kind.__module__.startswith(models.__name__) and attrs.has(kind)


_NAMES = {str: "text", bool: "true or false", datetime: "a time", type(None): "null"}
