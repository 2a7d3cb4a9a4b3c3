from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Version")


@_attrs_define
class Version:
    """
    Attributes:
        version (str):
        api_version (str):
        commit (None | str): Git commit of the checkout that the agent runs from. Null if `.git` cannot be read.
        runtime (str): Runtime for boxes: `crun`, or `kubernetes` in a cluster.
        filesystem (str): Filesystem of the pool: `btrfs`.
    """

    version: str
    api_version: str
    commit: None | str
    runtime: str
    filesystem: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        api_version = self.api_version

        commit: None | str
        commit = self.commit

        runtime = self.runtime

        filesystem = self.filesystem

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "version": version,
                "api_version": api_version,
                "commit": commit,
                "runtime": runtime,
                "filesystem": filesystem,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        version = d.pop("version")

        api_version = d.pop("api_version")

        def _parse_commit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        commit = _parse_commit(d.pop("commit"))

        runtime = d.pop("runtime")

        filesystem = d.pop("filesystem")

        version = cls(
            version=version,
            api_version=api_version,
            commit=commit,
            runtime=runtime,
            filesystem=filesystem,
        )

        version.additional_properties = d
        return version

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
