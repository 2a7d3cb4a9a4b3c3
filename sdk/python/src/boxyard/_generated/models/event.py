from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.event_actor_type_0 import EventActorType0
    from ..models.event_data import EventData


T = TypeVar("T", bound="Event")


@_attrs_define
class Event:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        ts (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        type_ (str): Dotted type. New types may be added.
        project (None | str): Project of the resource. Null for shared resources and the deployment.
        resource (str): Path of the resource.
        actor (EventActorType0 | None): Token that caused the event. Null if the service itself did.
        request_id (None | str): Request that caused the event. Null if the service itself did.
        data (EventData): Details that depend on the type. New fields may be added.
    """

    id: str
    ts: datetime.datetime
    type_: str
    project: None | str
    resource: str
    actor: EventActorType0 | None
    request_id: None | str
    data: EventData
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.event_actor_type_0 import EventActorType0

        id = self.id

        ts = self.ts.isoformat()

        type_ = self.type_

        project: None | str
        project = self.project

        resource = self.resource

        actor: dict[str, Any] | None
        if isinstance(self.actor, EventActorType0):
            actor = self.actor.to_dict()
        else:
            actor = self.actor

        request_id: None | str
        request_id = self.request_id

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "ts": ts,
                "type": type_,
                "project": project,
                "resource": resource,
                "actor": actor,
                "request_id": request_id,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.event_actor_type_0 import EventActorType0
        from ..models.event_data import EventData

        d = dict(src_dict)
        id = d.pop("id")

        ts = datetime.datetime.fromisoformat(d.pop("ts"))

        type_ = d.pop("type")

        def _parse_project(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        project = _parse_project(d.pop("project"))

        resource = d.pop("resource")

        def _parse_actor(data: object) -> EventActorType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                actor_type_0 = EventActorType0.from_dict(data)

                return actor_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EventActorType0 | None, data)

        actor = _parse_actor(d.pop("actor"))

        def _parse_request_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        request_id = _parse_request_id(d.pop("request_id"))

        data = EventData.from_dict(d.pop("data"))

        event = cls(
            id=id,
            ts=ts,
            type_=type_,
            project=project,
            resource=resource,
            actor=actor,
            request_id=request_id,
            data=data,
        )

        event.additional_properties = d
        return event

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
