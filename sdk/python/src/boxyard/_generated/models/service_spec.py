from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.service_spec_protocol import ServiceSpecProtocol
from ..models.service_spec_restart import ServiceSpecRestart

if TYPE_CHECKING:
    from ..models.service_spec_env import ServiceSpecEnv
    from ..models.service_spec_readiness_type_0 import ServiceSpecReadinessType0


T = TypeVar("T", bound="ServiceSpec")


@_attrs_define
class ServiceSpec:
    """
    Attributes:
        command (list[str]): Program and arguments.
        env (ServiceSpecEnv): Shown to tokens with `write`, else empty.
        cwd (None | str): Working directory. Null for the home directory of the user.
        user (None | str): User in the box, with an optional `:group`. Null for root.
        port (int | None): Port the service should listen on. Null for none.
        protocol (ServiceSpecProtocol | str): Protocol of the port: `http`, the default, or `h2c`. `h2c` is HTTP/2
            without TLS, for example for gRPC servers.
        needs (list[str]): Services of the box that must be ready before this one starts.
        restart (ServiceSpecRestart | str): When to restart the service after it exits.
        readiness (None | ServiceSpecReadinessType0): Readiness probe, with the fields from the request. Null for none.
        stop_signal (str): Signal that asks the service to stop.
        grace_seconds (int): Seconds between the stop signal and SIGKILL.
    """

    command: list[str]
    env: ServiceSpecEnv
    cwd: None | str
    user: None | str
    port: int | None
    protocol: ServiceSpecProtocol | str
    needs: list[str]
    restart: ServiceSpecRestart | str
    readiness: None | ServiceSpecReadinessType0
    stop_signal: str
    grace_seconds: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.service_spec_readiness_type_0 import ServiceSpecReadinessType0

        command = self.command

        env = self.env.to_dict()

        cwd: None | str
        cwd = self.cwd

        user: None | str
        user = self.user

        port: int | None
        port = self.port

        protocol: str
        if isinstance(self.protocol, ServiceSpecProtocol):
            protocol = ServiceSpecProtocol(self.protocol).value
        else:
            protocol = self.protocol

        needs = self.needs

        restart: str
        if isinstance(self.restart, ServiceSpecRestart):
            restart = ServiceSpecRestart(self.restart).value
        else:
            restart = self.restart

        readiness: dict[str, Any] | None
        if isinstance(self.readiness, ServiceSpecReadinessType0):
            readiness = self.readiness.to_dict()
        else:
            readiness = self.readiness

        stop_signal = self.stop_signal

        grace_seconds = self.grace_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "command": command,
                "env": env,
                "cwd": cwd,
                "user": user,
                "port": port,
                "protocol": protocol,
                "needs": needs,
                "restart": restart,
                "readiness": readiness,
                "stop_signal": stop_signal,
                "grace_seconds": grace_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.service_spec_env import ServiceSpecEnv
        from ..models.service_spec_readiness_type_0 import ServiceSpecReadinessType0

        d = dict(src_dict)
        command = cast(list[str], d.pop("command"))

        env = ServiceSpecEnv.from_dict(d.pop("env"))

        def _parse_cwd(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        cwd = _parse_cwd(d.pop("cwd"))

        def _parse_user(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        user = _parse_user(d.pop("user"))

        def _parse_port(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        port = _parse_port(d.pop("port"))

        def _parse_protocol(data: object) -> ServiceSpecProtocol | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_protocol = ServiceSpecProtocol(data)

                return protocol_protocol
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServiceSpecProtocol | str, data)

        protocol = _parse_protocol(d.pop("protocol"))

        needs = cast(list[str], d.pop("needs"))

        def _parse_restart(data: object) -> ServiceSpecRestart | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                restart_restart = ServiceSpecRestart(data)

                return restart_restart
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServiceSpecRestart | str, data)

        restart = _parse_restart(d.pop("restart"))

        def _parse_readiness(data: object) -> None | ServiceSpecReadinessType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                readiness_type_0 = ServiceSpecReadinessType0.from_dict(data)

                return readiness_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ServiceSpecReadinessType0, data)

        readiness = _parse_readiness(d.pop("readiness"))

        stop_signal = d.pop("stop_signal")

        grace_seconds = d.pop("grace_seconds")

        service_spec = cls(
            command=command,
            env=env,
            cwd=cwd,
            user=user,
            port=port,
            protocol=protocol,
            needs=needs,
            restart=restart,
            readiness=readiness,
            stop_signal=stop_signal,
            grace_seconds=grace_seconds,
        )

        service_spec.additional_properties = d
        return service_spec

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
