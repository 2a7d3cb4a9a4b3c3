from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.box_config import BoxConfig
    from ..models.config_defaults_quota import ConfigDefaultsQuota


T = TypeVar("T", bound="ConfigDefaults")


@_attrs_define
class ConfigDefaults:
    """Values for fields that a request omits. A fork or a copy of a volume takes them from its source instead.

    Attributes:
        base (str):
        config (BoxConfig):
        termination_grace_period_seconds (int): Seconds between SIGTERM and SIGKILL when a box stops.
        volume_size_gb (float): Size of a new data volume, in GiB.
        quota (ConfigDefaultsQuota): Quota of projects whose quota was never set. Null for unlimited.
    """

    base: str
    config: BoxConfig
    termination_grace_period_seconds: int
    volume_size_gb: float
    quota: ConfigDefaultsQuota
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        base = self.base

        config = self.config.to_dict()

        termination_grace_period_seconds = self.termination_grace_period_seconds

        volume_size_gb = self.volume_size_gb

        quota = self.quota.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "base": base,
                "config": config,
                "termination_grace_period_seconds": termination_grace_period_seconds,
                "volume_size_gb": volume_size_gb,
                "quota": quota,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_config import BoxConfig
        from ..models.config_defaults_quota import ConfigDefaultsQuota

        d = dict(src_dict)
        base = d.pop("base")

        config = BoxConfig.from_dict(d.pop("config"))

        termination_grace_period_seconds = d.pop("termination_grace_period_seconds")

        volume_size_gb = d.pop("volume_size_gb")

        quota = ConfigDefaultsQuota.from_dict(d.pop("quota"))

        config_defaults = cls(
            base=base,
            config=config,
            termination_grace_period_seconds=termination_grace_period_seconds,
            volume_size_gb=volume_size_gb,
            quota=quota,
        )

        config_defaults.additional_properties = d
        return config_defaults

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
