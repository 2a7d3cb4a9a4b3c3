from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ConfigDrivers")


@_attrs_define
class ConfigDrivers:
    """Implementations in use.

    Attributes:
        runtime (str): Runtime for boxes: `crun`, or `kubernetes` in a cluster.
        filesystem (str): Filesystem of the pool: `btrfs`.
        store (str): Database for records: `sqlite`.
        backups (str): Backup store: `folder` or `s3`.
    """

    runtime: str
    filesystem: str
    store: str
    backups: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        runtime = self.runtime

        filesystem = self.filesystem

        store = self.store

        backups = self.backups

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "runtime": runtime,
                "filesystem": filesystem,
                "store": store,
                "backups": backups,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        runtime = d.pop("runtime")

        filesystem = d.pop("filesystem")

        store = d.pop("store")

        backups = d.pop("backups")

        config_drivers = cls(
            runtime=runtime,
            filesystem=filesystem,
            store=store,
            backups=backups,
        )

        config_drivers.additional_properties = d
        return config_drivers

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
