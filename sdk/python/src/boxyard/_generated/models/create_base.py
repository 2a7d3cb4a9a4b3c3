from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateBase")


@_attrs_define
class CreateBase:
    """
    Attributes:
        name (str): A name, unique in its project.
        box (str | Unset): A name, unique in its project.
        snapshot (str | Unset): A name, unique in its project.
        image (str | Unset): Reference of a public image to pull, such as `debian:12`.
        shared (bool | Unset): Shares the base with all projects. Requires `admin` on all projects.
    """

    name: str
    box: str | Unset = UNSET
    snapshot: str | Unset = UNSET
    image: str | Unset = UNSET
    shared: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        box = self.box

        snapshot = self.snapshot

        image = self.image

        shared = self.shared

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
            }
        )
        if box is not UNSET:
            field_dict["box"] = box
        if snapshot is not UNSET:
            field_dict["snapshot"] = snapshot
        if image is not UNSET:
            field_dict["image"] = image
        if shared is not UNSET:
            field_dict["shared"] = shared

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        box = d.pop("box", UNSET)

        snapshot = d.pop("snapshot", UNSET)

        image = d.pop("image", UNSET)

        shared = d.pop("shared", UNSET)

        create_base = cls(
            name=name,
            box=box,
            snapshot=snapshot,
            image=image,
            shared=shared,
        )

        return create_base
