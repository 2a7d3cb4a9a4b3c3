from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.service_state import ServiceState

if TYPE_CHECKING:
    from ..models.service_history_item import ServiceHistoryItem
    from ..models.service_instance import ServiceInstance
    from ..models.service_preview import ServicePreview
    from ..models.service_spec import ServiceSpec
    from ..models.tags import Tags


T = TypeVar("T", bound="Service")


@_attrs_define
class Service:
    """
    Attributes:
        name (str): A name, unique in its project.
        box (str): A name, unique in its project.
        project (str): A name, unique in its project.
        state (ServiceState | str): `starting` until ready. `stopped`: on request, because its box does not run, or
            after exit code 0 without a restart; `failed`: it ended in another way.
        message (None | str): Why the service has this state.
        spec (ServiceSpec):
        active (None | ServiceInstance): Version that receives requests. Null before the first start.
        preview (None | ServicePreview): Version deployed beside the active one, until you promote or discard it. Null
            for none.
        previous (None | ServiceInstance): Previously active version, kept for a rollback. Null for none.
        active_url (None | str): URL of the active version. Null if it has no port.
        preview_url (None | str): URL of the preview. Null if there is no preview, it has no port, or it failed.
        published_domains (list[str]): Custom domains that serve the active version in addition to its URL.
        generation (int): Increases with every change to `spec` or `tags`.
        history (list[ServiceHistoryItem]): Newest last, at most 50 entries.
        tags (Tags): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        updated_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
    """

    name: str
    box: str
    project: str
    state: ServiceState | str
    message: None | str
    spec: ServiceSpec
    active: None | ServiceInstance
    preview: None | ServicePreview
    previous: None | ServiceInstance
    active_url: None | str
    preview_url: None | str
    published_domains: list[str]
    generation: int
    history: list[ServiceHistoryItem]
    tags: Tags
    created_at: datetime.datetime
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.service_instance import ServiceInstance
        from ..models.service_preview import ServicePreview

        name = self.name

        box = self.box

        project = self.project

        state: str
        if isinstance(self.state, ServiceState):
            state = ServiceState(self.state).value
        else:
            state = self.state

        message: None | str
        message = self.message

        spec = self.spec.to_dict()

        active: dict[str, Any] | None
        if isinstance(self.active, ServiceInstance):
            active = self.active.to_dict()
        else:
            active = self.active

        preview: dict[str, Any] | None
        if isinstance(self.preview, ServicePreview):
            preview = self.preview.to_dict()
        else:
            preview = self.preview

        previous: dict[str, Any] | None
        if isinstance(self.previous, ServiceInstance):
            previous = self.previous.to_dict()
        else:
            previous = self.previous

        active_url: None | str
        active_url = self.active_url

        preview_url: None | str
        preview_url = self.preview_url

        published_domains = self.published_domains

        generation = self.generation

        history = []
        for history_item_data in self.history:
            history_item = history_item_data.to_dict()
            history.append(history_item)

        tags = self.tags.to_dict()

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "box": box,
                "project": project,
                "state": state,
                "message": message,
                "spec": spec,
                "active": active,
                "preview": preview,
                "previous": previous,
                "active_url": active_url,
                "preview_url": preview_url,
                "published_domains": published_domains,
                "generation": generation,
                "history": history,
                "tags": tags,
                "created_at": created_at,
                "updated_at": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.service_history_item import ServiceHistoryItem
        from ..models.service_instance import ServiceInstance
        from ..models.service_preview import ServicePreview
        from ..models.service_spec import ServiceSpec
        from ..models.tags import Tags

        d = dict(src_dict)
        name = d.pop("name")

        box = d.pop("box")

        project = d.pop("project")

        def _parse_state(data: object) -> ServiceState | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                state_state = ServiceState(data)

                return state_state
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ServiceState | str, data)

        state = _parse_state(d.pop("state"))

        def _parse_message(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        message = _parse_message(d.pop("message"))

        spec = ServiceSpec.from_dict(d.pop("spec"))

        def _parse_active(data: object) -> None | ServiceInstance:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                active_type_0 = ServiceInstance.from_dict(data)

                return active_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ServiceInstance, data)

        active = _parse_active(d.pop("active"))

        def _parse_preview(data: object) -> None | ServicePreview:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                preview_type_0 = ServicePreview.from_dict(data)

                return preview_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ServicePreview, data)

        preview = _parse_preview(d.pop("preview"))

        def _parse_previous(data: object) -> None | ServiceInstance:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                previous_type_0 = ServiceInstance.from_dict(data)

                return previous_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ServiceInstance, data)

        previous = _parse_previous(d.pop("previous"))

        def _parse_active_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        active_url = _parse_active_url(d.pop("active_url"))

        def _parse_preview_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        preview_url = _parse_preview_url(d.pop("preview_url"))

        published_domains = cast(list[str], d.pop("published_domains"))

        generation = d.pop("generation")

        history = []
        _history = d.pop("history")
        for history_item_data in _history:
            history_item = ServiceHistoryItem.from_dict(history_item_data)

            history.append(history_item)

        tags = Tags.from_dict(d.pop("tags"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        service = cls(
            name=name,
            box=box,
            project=project,
            state=state,
            message=message,
            spec=spec,
            active=active,
            preview=preview,
            previous=previous,
            active_url=active_url,
            preview_url=preview_url,
            published_domains=published_domains,
            generation=generation,
            history=history,
            tags=tags,
            created_at=created_at,
            updated_at=updated_at,
        )

        service.additional_properties = d
        return service

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
