from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BoxConfig")


@_attrs_define
class BoxConfig:
    """
    Attributes:
        cpus (float): Number of cores, may be fractional.
        ram_mb (int): Memory in MiB.
        region (str): Region of the deployment.
        storage_gb (float): GiB the box can write beyond what it inherited, compressed.
        network_mbps (int | None): Network bandwidth in Mbit/s, for each direction, with at most 200 packets per second
            for each Mbit/s. Null for no limit.
        disk_mbps (int | None): Disk throughput in megabytes (10^6 bytes) per second, reads and writes together; null
            for no limit. A box that exceeds it is paused for a while (docs/security.md#the-disk).
        disk_iops (int | None): Disk operations per second, reads and writes together; null for no limit. A box that
            exceeds it is paused for a while.
        shm_mb (int | None): MiB of `/dev/shm`, part of `ram_mb`. Null means half of it.
        core_dumps (bool): Whether crashing programs may leave core dumps on its disk.
        nesting (bool): Whether its next start allows containers and sandboxes.
    """

    cpus: float
    ram_mb: int
    region: str
    storage_gb: float
    network_mbps: int | None
    disk_mbps: int | None
    disk_iops: int | None
    shm_mb: int | None
    core_dumps: bool
    nesting: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        cpus = self.cpus

        ram_mb = self.ram_mb

        region = self.region

        storage_gb = self.storage_gb

        network_mbps: int | None
        network_mbps = self.network_mbps

        disk_mbps: int | None
        disk_mbps = self.disk_mbps

        disk_iops: int | None
        disk_iops = self.disk_iops

        shm_mb: int | None
        shm_mb = self.shm_mb

        core_dumps = self.core_dumps

        nesting = self.nesting

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cpus": cpus,
                "ram_mb": ram_mb,
                "region": region,
                "storage_gb": storage_gb,
                "network_mbps": network_mbps,
                "disk_mbps": disk_mbps,
                "disk_iops": disk_iops,
                "shm_mb": shm_mb,
                "core_dumps": core_dumps,
                "nesting": nesting,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        cpus = d.pop("cpus")

        ram_mb = d.pop("ram_mb")

        region = d.pop("region")

        storage_gb = d.pop("storage_gb")

        def _parse_network_mbps(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        network_mbps = _parse_network_mbps(d.pop("network_mbps"))

        def _parse_disk_mbps(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        disk_mbps = _parse_disk_mbps(d.pop("disk_mbps"))

        def _parse_disk_iops(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        disk_iops = _parse_disk_iops(d.pop("disk_iops"))

        def _parse_shm_mb(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        shm_mb = _parse_shm_mb(d.pop("shm_mb"))

        core_dumps = d.pop("core_dumps")

        nesting = d.pop("nesting")

        box_config = cls(
            cpus=cpus,
            ram_mb=ram_mb,
            region=region,
            storage_gb=storage_gb,
            network_mbps=network_mbps,
            disk_mbps=disk_mbps,
            disk_iops=disk_iops,
            shm_mb=shm_mb,
            core_dumps=core_dumps,
            nesting=nesting,
        )

        box_config.additional_properties = d
        return box_config

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
