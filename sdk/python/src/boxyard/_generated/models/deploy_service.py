from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.deploy_service_isolation import DeployServiceIsolation
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.environment import Environment


T = TypeVar("T", bound="DeployService")


@_attrs_define
class DeployService:
    """
    Attributes:
        command (list[str] | Unset): Program and arguments, at most 65,536 characters in total.
        env (Environment | Unset): Variables by name. `BOX_*` and `BOXYARD_*` are reserved.
        isolation (DeployServiceIsolation | Unset): With `fork`, the preview runs in a copy of the box, with its data
            volumes read-only. Default: DeployServiceIsolation.PROCESS.
        copy_data (bool | Unset): In a fork, mounts writable copies of the data volumes. They are deleted with the fork.
            Default: False.
        ready_seconds (int | Unset): Seconds for the preview to become ready after its start. After that, it has failed.
            Default: 60.
    """

    command: list[str] | Unset = UNSET
    env: Environment | Unset = UNSET
    isolation: DeployServiceIsolation | str | Unset = DeployServiceIsolation.PROCESS
    copy_data: bool | Unset = False
    ready_seconds: int | Unset = 60

    def to_dict(self) -> dict[str, Any]:
        command: list[str] | Unset = UNSET
        if not isinstance(self.command, Unset):
            command = self.command

        env: dict[str, Any] | Unset = UNSET
        if not isinstance(self.env, Unset):
            env = self.env.to_dict()

        isolation: str | Unset = UNSET
        if not isinstance(self.isolation, Unset):
            isolation = DeployServiceIsolation(self.isolation).value

        copy_data = self.copy_data

        ready_seconds = self.ready_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if command is not UNSET:
            field_dict["command"] = command
        if env is not UNSET:
            field_dict["env"] = env
        if isolation is not UNSET:
            field_dict["isolation"] = isolation
        if copy_data is not UNSET:
            field_dict["copy_data"] = copy_data
        if ready_seconds is not UNSET:
            field_dict["ready_seconds"] = ready_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.environment import Environment

        d = dict(src_dict)
        command = cast(list[str], d.pop("command", UNSET))

        _env = d.pop("env", UNSET)
        env: Environment | Unset
        if isinstance(_env, Unset):
            env = UNSET
        else:
            env = Environment.from_dict(_env)

        _isolation = d.pop("isolation", UNSET)
        isolation: DeployServiceIsolation | Unset
        if isinstance(_isolation, Unset):
            isolation = UNSET
        else:
            isolation = DeployServiceIsolation(_isolation)

        copy_data = d.pop("copy_data", UNSET)

        ready_seconds = d.pop("ready_seconds", UNSET)

        deploy_service = cls(
            command=command,
            env=env,
            isolation=isolation,
            copy_data=copy_data,
            ready_seconds=ready_seconds,
        )

        return deploy_service
