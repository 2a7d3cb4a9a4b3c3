from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.put_service_protocol_type_0 import PutServiceProtocolType0
from ..models.put_service_restart import PutServiceRestart
from ..models.put_service_stop_signal import PutServiceStopSignal
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.environment import Environment
    from ..models.put_service_readiness_type_0 import PutServiceReadinessType0
    from ..models.tags import Tags


T = TypeVar("T", bound="PutService")


@_attrs_define
class PutService:
    """
    Attributes:
        command (list[str]): Program and arguments, at most 65,536 characters in total.
        env (Environment | Unset): Variables by name. `BOX_*` and `BOXYARD_*` are reserved.
        cwd (None | str | Unset): Absolute path of the working directory. Null and default: the home directory of the
            user.
        user (None | str | Unset): User in the box, by name or number, optionally with `:group`. Null and default: root.
        port (int | None | Unset): Port the service listens on, passed to it as `PORT`. 0 and null for none.
        protocol (None | PutServiceProtocolType0 | Unset):
        needs (list[str] | Unset): Services of the box that must be ready before this one starts.
        restart (PutServiceRestart | Unset): When to restart the service after it exits. Default: `always`.
        readiness (None | PutServiceReadinessType0 | Unset): Readiness probe. Without one, the service is ready as soon
            as it runs.
        stop_signal (PutServiceStopSignal | Unset): Signal that asks the service to stop. Default: SIGTERM.
        grace_seconds (int | Unset): Seconds between the stop signal and SIGKILL. Default: 10.
        tags (Tags | Unset): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
    """

    command: list[str]
    env: Environment | Unset = UNSET
    cwd: None | str | Unset = UNSET
    user: None | str | Unset = UNSET
    port: int | None | Unset = UNSET
    protocol: None | PutServiceProtocolType0 | Unset = UNSET
    needs: list[str] | Unset = UNSET
    restart: PutServiceRestart | str | Unset = UNSET
    readiness: None | PutServiceReadinessType0 | Unset = UNSET
    stop_signal: PutServiceStopSignal | str | Unset = UNSET
    grace_seconds: int | Unset = UNSET
    tags: Tags | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.put_service_readiness_type_0 import PutServiceReadinessType0

        command = self.command

        env: dict[str, Any] | Unset = UNSET
        if not isinstance(self.env, Unset):
            env = self.env.to_dict()

        cwd: None | str | Unset
        if isinstance(self.cwd, Unset):
            cwd = UNSET
        else:
            cwd = self.cwd

        user: None | str | Unset
        if isinstance(self.user, Unset):
            user = UNSET
        else:
            user = self.user

        port: int | None | Unset
        if isinstance(self.port, Unset):
            port = UNSET
        else:
            port = self.port

        protocol: None | str | Unset
        if isinstance(self.protocol, Unset):
            protocol = UNSET
        elif isinstance(self.protocol, PutServiceProtocolType0):
            protocol = PutServiceProtocolType0(self.protocol).value
        else:
            protocol = self.protocol

        needs: list[str] | Unset = UNSET
        if not isinstance(self.needs, Unset):
            needs = self.needs

        restart: str | Unset = UNSET
        if not isinstance(self.restart, Unset):
            restart = PutServiceRestart(self.restart).value

        readiness: dict[str, Any] | None | Unset
        if isinstance(self.readiness, Unset):
            readiness = UNSET
        elif isinstance(self.readiness, PutServiceReadinessType0):
            readiness = self.readiness.to_dict()
        else:
            readiness = self.readiness

        stop_signal: str | Unset = UNSET
        if not isinstance(self.stop_signal, Unset):
            stop_signal = PutServiceStopSignal(self.stop_signal).value

        grace_seconds = self.grace_seconds

        tags: dict[str, Any] | Unset = UNSET
        if not isinstance(self.tags, Unset):
            tags = self.tags.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "command": command,
            }
        )
        if env is not UNSET:
            field_dict["env"] = env
        if cwd is not UNSET:
            field_dict["cwd"] = cwd
        if user is not UNSET:
            field_dict["user"] = user
        if port is not UNSET:
            field_dict["port"] = port
        if protocol is not UNSET:
            field_dict["protocol"] = protocol
        if needs is not UNSET:
            field_dict["needs"] = needs
        if restart is not UNSET:
            field_dict["restart"] = restart
        if readiness is not UNSET:
            field_dict["readiness"] = readiness
        if stop_signal is not UNSET:
            field_dict["stop_signal"] = stop_signal
        if grace_seconds is not UNSET:
            field_dict["grace_seconds"] = grace_seconds
        if tags is not UNSET:
            field_dict["tags"] = tags

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.environment import Environment
        from ..models.put_service_readiness_type_0 import PutServiceReadinessType0
        from ..models.tags import Tags

        d = dict(src_dict)
        command = cast(list[str], d.pop("command"))

        _env = d.pop("env", UNSET)
        env: Environment | Unset
        if isinstance(_env, Unset):
            env = UNSET
        else:
            env = Environment.from_dict(_env)

        def _parse_cwd(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        cwd = _parse_cwd(d.pop("cwd", UNSET))

        def _parse_user(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        user = _parse_user(d.pop("user", UNSET))

        def _parse_port(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        port = _parse_port(d.pop("port", UNSET))

        def _parse_protocol(data: object) -> None | PutServiceProtocolType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_type_0 = PutServiceProtocolType0(data)

                return protocol_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PutServiceProtocolType0 | Unset, data)

        protocol = _parse_protocol(d.pop("protocol", UNSET))

        needs = cast(list[str], d.pop("needs", UNSET))

        _restart = d.pop("restart", UNSET)
        restart: PutServiceRestart | Unset
        if isinstance(_restart, Unset):
            restart = UNSET
        else:
            restart = PutServiceRestart(_restart)

        def _parse_readiness(data: object) -> None | PutServiceReadinessType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                readiness_type_0 = PutServiceReadinessType0.from_dict(data)

                return readiness_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PutServiceReadinessType0 | Unset, data)

        readiness = _parse_readiness(d.pop("readiness", UNSET))

        _stop_signal = d.pop("stop_signal", UNSET)
        stop_signal: PutServiceStopSignal | Unset
        if isinstance(_stop_signal, Unset):
            stop_signal = UNSET
        else:
            stop_signal = PutServiceStopSignal(_stop_signal)

        grace_seconds = d.pop("grace_seconds", UNSET)

        _tags = d.pop("tags", UNSET)
        tags: Tags | Unset
        if isinstance(_tags, Unset):
            tags = UNSET
        else:
            tags = Tags.from_dict(_tags)

        put_service = cls(
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
            tags=tags,
        )

        return put_service
