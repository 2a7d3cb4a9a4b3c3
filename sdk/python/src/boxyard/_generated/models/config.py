from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.config_defaults import ConfigDefaults
    from ..models.config_drivers import ConfigDrivers
    from ..models.limits import Limits
    from ..models.shares import Shares


T = TypeVar("T", bound="Config")


@_attrs_define
class Config:
    """
    Attributes:
        drivers (ConfigDrivers): Implementations in use.
        region (str): Region of the deployment, and the only allowed `config.region` of a box.
        bases (list[str]): Names of the shared bases.
        defaults (ConfigDefaults): Values for fields that a request omits. A fork or a copy of a volume takes them from
            its source instead.
        nesting (bool): Whether boxes can set `config.nesting`.
        features (list[str]): Areas of the API that this deployment serves.
        limits (Limits): Limits in force. If a `…_per_box` limit is half of its `…_at_once` limit, no box may hold more
            than what is free.
        shares (Shares): Resources that callers share, by name.
    """

    drivers: ConfigDrivers
    region: str
    bases: list[str]
    defaults: ConfigDefaults
    nesting: bool
    features: list[str]
    limits: Limits
    shares: Shares
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        drivers = self.drivers.to_dict()

        region = self.region

        bases = self.bases

        defaults = self.defaults.to_dict()

        nesting = self.nesting

        features = self.features

        limits = self.limits.to_dict()

        shares = self.shares.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "drivers": drivers,
                "region": region,
                "bases": bases,
                "defaults": defaults,
                "nesting": nesting,
                "features": features,
                "limits": limits,
                "shares": shares,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.config_defaults import ConfigDefaults
        from ..models.config_drivers import ConfigDrivers
        from ..models.limits import Limits
        from ..models.shares import Shares

        d = dict(src_dict)
        drivers = ConfigDrivers.from_dict(d.pop("drivers"))

        region = d.pop("region")

        bases = cast(list[str], d.pop("bases"))

        defaults = ConfigDefaults.from_dict(d.pop("defaults"))

        nesting = d.pop("nesting")

        features = cast(list[str], d.pop("features"))

        limits = Limits.from_dict(d.pop("limits"))

        shares = Shares.from_dict(d.pop("shares"))

        config = cls(
            drivers=drivers,
            region=region,
            bases=bases,
            defaults=defaults,
            nesting=nesting,
            features=features,
            limits=limits,
            shares=shares,
        )

        config.additional_properties = d
        return config

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
