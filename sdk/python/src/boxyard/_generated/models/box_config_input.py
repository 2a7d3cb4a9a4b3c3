from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="BoxConfigInput")


@_attrs_define
class BoxConfigInput:
    """
    Attributes:
        cpus (float | None | Unset): Cores, may be fractional. At most the CPUs of the host.
        ram_mb (int | None | Unset): Memory in MiB.
        region (None | str | Unset): Must be the region of the deployment.
        storage_gb (float | None | Unset): GiB the box can write beyond what it inherited.
        network_mbps (int | None | Unset): Network bandwidth in Mbit/s, for each direction. At most
            `defaults.config.network_mbps` of `GET /v1/config`, if that is not null.
        disk_mbps (int | None | Unset): Disk throughput in megabytes per second, reads and writes together. At most
            `defaults.config.disk_mbps` of `GET /v1/config`, if that is not null.
        disk_iops (int | None | Unset): Disk operations per second, reads and writes together. At most
            `defaults.config.disk_iops` of `GET /v1/config`, if that is not null.
        shm_mb (int | None | Unset): Size of `/dev/shm` in MiB, at most `ram_mb` and part of it; null means half of
            `ram_mb`. Applies at once, but existing content stays.
        core_dumps (bool | None | Unset): If true, crashing programs may leave core dumps on the disk of the box
            (docs/inside.md#core-dumps). Applies from the next command.
        nesting (bool | None | Unset): If true, container runtimes and sandboxes work in the box
            (docs/security.md#nesting). Requires `nesting` of `GET /v1/config`, and applies from the next start.
    """

    cpus: float | None | Unset = UNSET
    ram_mb: int | None | Unset = UNSET
    region: None | str | Unset = UNSET
    storage_gb: float | None | Unset = UNSET
    network_mbps: int | None | Unset = UNSET
    disk_mbps: int | None | Unset = UNSET
    disk_iops: int | None | Unset = UNSET
    shm_mb: int | None | Unset = UNSET
    core_dumps: bool | None | Unset = UNSET
    nesting: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        cpus: float | None | Unset
        if isinstance(self.cpus, Unset):
            cpus = UNSET
        else:
            cpus = self.cpus

        ram_mb: int | None | Unset
        if isinstance(self.ram_mb, Unset):
            ram_mb = UNSET
        else:
            ram_mb = self.ram_mb

        region: None | str | Unset
        if isinstance(self.region, Unset):
            region = UNSET
        else:
            region = self.region

        storage_gb: float | None | Unset
        if isinstance(self.storage_gb, Unset):
            storage_gb = UNSET
        else:
            storage_gb = self.storage_gb

        network_mbps: int | None | Unset
        if isinstance(self.network_mbps, Unset):
            network_mbps = UNSET
        else:
            network_mbps = self.network_mbps

        disk_mbps: int | None | Unset
        if isinstance(self.disk_mbps, Unset):
            disk_mbps = UNSET
        else:
            disk_mbps = self.disk_mbps

        disk_iops: int | None | Unset
        if isinstance(self.disk_iops, Unset):
            disk_iops = UNSET
        else:
            disk_iops = self.disk_iops

        shm_mb: int | None | Unset
        if isinstance(self.shm_mb, Unset):
            shm_mb = UNSET
        else:
            shm_mb = self.shm_mb

        core_dumps: bool | None | Unset
        if isinstance(self.core_dumps, Unset):
            core_dumps = UNSET
        else:
            core_dumps = self.core_dumps

        nesting: bool | None | Unset
        if isinstance(self.nesting, Unset):
            nesting = UNSET
        else:
            nesting = self.nesting

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if cpus is not UNSET:
            field_dict["cpus"] = cpus
        if ram_mb is not UNSET:
            field_dict["ram_mb"] = ram_mb
        if region is not UNSET:
            field_dict["region"] = region
        if storage_gb is not UNSET:
            field_dict["storage_gb"] = storage_gb
        if network_mbps is not UNSET:
            field_dict["network_mbps"] = network_mbps
        if disk_mbps is not UNSET:
            field_dict["disk_mbps"] = disk_mbps
        if disk_iops is not UNSET:
            field_dict["disk_iops"] = disk_iops
        if shm_mb is not UNSET:
            field_dict["shm_mb"] = shm_mb
        if core_dumps is not UNSET:
            field_dict["core_dumps"] = core_dumps
        if nesting is not UNSET:
            field_dict["nesting"] = nesting

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)

        def _parse_cpus(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpus = _parse_cpus(d.pop("cpus", UNSET))

        def _parse_ram_mb(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        ram_mb = _parse_ram_mb(d.pop("ram_mb", UNSET))

        def _parse_region(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        region = _parse_region(d.pop("region", UNSET))

        def _parse_storage_gb(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        storage_gb = _parse_storage_gb(d.pop("storage_gb", UNSET))

        def _parse_network_mbps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        network_mbps = _parse_network_mbps(d.pop("network_mbps", UNSET))

        def _parse_disk_mbps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        disk_mbps = _parse_disk_mbps(d.pop("disk_mbps", UNSET))

        def _parse_disk_iops(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        disk_iops = _parse_disk_iops(d.pop("disk_iops", UNSET))

        def _parse_shm_mb(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        shm_mb = _parse_shm_mb(d.pop("shm_mb", UNSET))

        def _parse_core_dumps(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        core_dumps = _parse_core_dumps(d.pop("core_dumps", UNSET))

        def _parse_nesting(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        nesting = _parse_nesting(d.pop("nesting", UNSET))

        box_config_input = cls(
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

        return box_config_input
