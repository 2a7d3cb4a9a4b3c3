from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.service_preview_health import ServicePreviewHealth
from ..models.service_preview_isolation import ServicePreviewIsolation
from ..models.service_preview_state import ServicePreviewState

if TYPE_CHECKING:
    from ..models.service_preview_last_exit_type_0 import ServicePreviewLastExitType0
    from ..models.service_spec import ServiceSpec


T = TypeVar("T", bound="ServicePreview")


@_attrs_define
class ServicePreview:
    """
    Attributes:
        alive (bool): Whether its process is running.
        pid (int | None): Process id in the box. Null if the process does not run, or the id is not known.
        port (int | None): Port passed to the process as `PORT`, which may differ from the port in `spec`. Null for
            none.
        spec (ServiceSpec):
        started_at (datetime.datetime | None): When it last started. Null before the first start.
        restarts (int): Restarts since the last start by a request.
        health (ServicePreviewHealth | str): Result of the readiness probe: `starting` until the first success,
            `unhealthy` after `threshold` consecutive failures. `unknown` without a probe, or while the service does not
            run.
        last_exit (None | ServicePreviewLastExitType0): How its last process ended. Null if none has ended.
        state (ServicePreviewState | str): `failed`: it ended, or was not ready in time. `stopped`: its box does not
            run.
        message (None | str): Why it has this state. If it failed, includes the last lines of output for callers with
            `exec`.
        isolation (ServicePreviewIsolation | str): `process`: it runs in the box. `fork`: it runs in a copy of the box.
    """

    alive: bool
    pid: int | None
    port: int | None
    spec: ServiceSpec
    started_at: datetime.datetime | None
    restarts: int
    health: ServicePreviewHealth | str
    last_exit: None | ServicePreviewLastExitType0
    state: ServicePreviewState | str
    message: None | str
    isolation: ServicePreviewIsolation | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.service_preview_last_exit_type_0 import (
            ServicePreviewLastExitType0,
        )

        alive = self.alive

        pid: int | None
        pid = self.pid

        port: int | None
        port = self.port

        spec = self.spec.to_dict()

        started_at: None | str
        if isinstance(self.started_at, datetime.datetime):
            started_at = self.started_at.isoformat()
        else:
            started_at = self.started_at

        restarts = self.restarts

        health: str
        if isinstance(self.health, ServicePreviewHealth):
            health = ServicePreviewHealth(self.health).value
        else:
            health = self.health

        last_exit: dict[str, Any] | None
        if isinstance(self.last_exit, ServicePreviewLastExitType0):
            last_exit = self.last_exit.to_dict()
        else:
            last_exit = self.last_exit

        state: str
        if isinstance(self.state, ServicePreviewState):
            state = ServicePreviewState(self.state).value
        else:
            state = self.state

        message: None | str
        message = self.message

        isolation: str
        if isinstance(self.isolation, ServicePreviewIsolation):
            isolation = ServicePreviewIsolation(self.isolation).value
        else:
            isolation = self.isolation

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "alive": alive,
                "pid": pid,
                "port": port,
                "spec": spec,
                "started_at": started_at,
                "restarts": restarts,
                "health": health,
                "last_exit": last_exit,
                "state": state,
                "message": message,
                "isolation": isolation,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.service_preview_last_exit_type_0 import (
            ServicePreviewLastExitType0,
        )
        from ..models.service_spec import ServiceSpec

        d = dict(src_dict)
        alive = d.pop("alive")

        def _parse_pid(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        pid = _parse_pid(d.pop("pid"))

        def _parse_port(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        port = _parse_port(d.pop("port"))

        spec = ServiceSpec.from_dict(d.pop("spec"))

        def _parse_started_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                started_at_type_0 = datetime.datetime.fromisoformat(data)

                return started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        started_at = _parse_started_at(d.pop("started_at"))

        restarts = d.pop("restarts")

        def _parse_health(data: object) -> ServicePreviewHealth | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                health_health = ServicePreviewHealth(data)

                return health_health
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServicePreviewHealth | str, data)

        health = _parse_health(d.pop("health"))

        def _parse_last_exit(data: object) -> None | ServicePreviewLastExitType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                last_exit_type_0 = ServicePreviewLastExitType0.from_dict(data)

                return last_exit_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ServicePreviewLastExitType0, data)

        last_exit = _parse_last_exit(d.pop("last_exit"))

        def _parse_state(data: object) -> ServicePreviewState | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                state_state = ServicePreviewState(data)

                return state_state
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServicePreviewState | str, data)

        state = _parse_state(d.pop("state"))

        def _parse_message(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        message = _parse_message(d.pop("message"))

        def _parse_isolation(data: object) -> ServicePreviewIsolation | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                isolation_isolation = ServicePreviewIsolation(data)

                return isolation_isolation
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServicePreviewIsolation | str, data)

        isolation = _parse_isolation(d.pop("isolation"))

        service_preview = cls(
            alive=alive,
            pid=pid,
            port=port,
            spec=spec,
            started_at=started_at,
            restarts=restarts,
            health=health,
            last_exit=last_exit,
            state=state,
            message=message,
            isolation=isolation,
        )

        service_preview.additional_properties = d
        return service_preview

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
