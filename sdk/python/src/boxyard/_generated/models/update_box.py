from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.update_box_protocol_type_0 import UpdateBoxProtocolType0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.box_config_input import BoxConfigInput
    from ..models.environment import Environment
    from ..models.tags import Tags
    from ..models.update_box_url_settings_type_0 import UpdateBoxUrlSettingsType0


T = TypeVar("T", bound="UpdateBox")


@_attrs_define
class UpdateBox:
    """
    Attributes:
        config (BoxConfigInput | None | Unset):
        environment (Environment | None | Unset):
        port (int | None | Unset): Port its URL forwards to. 0 and null unset it.
        protocol (None | Unset | UpdateBoxProtocolType0):
        termination_grace_period_seconds (int | None | Unset): Seconds from SIGTERM to SIGKILL on stop.
        url_settings (None | Unset | UpdateBoxUrlSettingsType0):
        tags (None | Tags | Unset):
        id (Any | Unset): Read-only. You may send it back unchanged.
        name (Any | Unset): Read-only. You may send it back unchanged.
        project (Any | Unset): Read-only. You may send it back unchanged.
        status (Any | Unset): Read-only. You may send it back unchanged.
        state (Any | Unset): Read-only. You may send it back unchanged.
        created_at (Any | Unset): Read-only. You may send it back unchanged.
        updated_at (Any | Unset): Read-only. You may send it back unchanged.
        base (Any | Unset): Read-only. You may send it back unchanged.
        fork_of (Any | Unset): Read-only. You may send it back unchanged.
        node (Any | Unset): Read-only. You may send it back unchanged.
        data_mounts (Any | Unset): Read-only. You may send it back unchanged.
        published_domains (Any | Unset): Read-only. You may send it back unchanged.
        url (Any | Unset): Read-only. You may send it back unchanged.
        lease_until (Any | Unset): Read-only. You may send it back unchanged.
    """

    config: BoxConfigInput | None | Unset = UNSET
    environment: Environment | None | Unset = UNSET
    port: int | None | Unset = UNSET
    protocol: None | Unset | UpdateBoxProtocolType0 = UNSET
    termination_grace_period_seconds: int | None | Unset = UNSET
    url_settings: None | Unset | UpdateBoxUrlSettingsType0 = UNSET
    tags: None | Tags | Unset = UNSET
    id: Any | Unset = UNSET
    name: Any | Unset = UNSET
    project: Any | Unset = UNSET
    status: Any | Unset = UNSET
    state: Any | Unset = UNSET
    created_at: Any | Unset = UNSET
    updated_at: Any | Unset = UNSET
    base: Any | Unset = UNSET
    fork_of: Any | Unset = UNSET
    node: Any | Unset = UNSET
    data_mounts: Any | Unset = UNSET
    published_domains: Any | Unset = UNSET
    url: Any | Unset = UNSET
    lease_until: Any | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.box_config_input import BoxConfigInput
        from ..models.environment import Environment
        from ..models.tags import Tags
        from ..models.update_box_url_settings_type_0 import UpdateBoxUrlSettingsType0

        config: dict[str, Any] | None | Unset
        if isinstance(self.config, Unset):
            config = UNSET
        elif isinstance(self.config, BoxConfigInput):
            config = self.config.to_dict()
        else:
            config = self.config

        environment: dict[str, Any] | None | Unset
        if isinstance(self.environment, Unset):
            environment = UNSET
        elif isinstance(self.environment, Environment):
            environment = self.environment.to_dict()
        else:
            environment = self.environment

        port: int | None | Unset
        if isinstance(self.port, Unset):
            port = UNSET
        else:
            port = self.port

        protocol: None | str | Unset
        if isinstance(self.protocol, Unset):
            protocol = UNSET
        elif isinstance(self.protocol, UpdateBoxProtocolType0):
            protocol = UpdateBoxProtocolType0(self.protocol).value
        else:
            protocol = self.protocol

        termination_grace_period_seconds: int | None | Unset
        if isinstance(self.termination_grace_period_seconds, Unset):
            termination_grace_period_seconds = UNSET
        else:
            termination_grace_period_seconds = self.termination_grace_period_seconds

        url_settings: dict[str, Any] | None | Unset
        if isinstance(self.url_settings, Unset):
            url_settings = UNSET
        elif isinstance(self.url_settings, UpdateBoxUrlSettingsType0):
            url_settings = self.url_settings.to_dict()
        else:
            url_settings = self.url_settings

        tags: dict[str, Any] | None | Unset
        if isinstance(self.tags, Unset):
            tags = UNSET
        elif isinstance(self.tags, Tags):
            tags = self.tags.to_dict()
        else:
            tags = self.tags

        id = self.id

        name = self.name

        project = self.project

        status = self.status

        state = self.state

        created_at = self.created_at

        updated_at = self.updated_at

        base = self.base

        fork_of = self.fork_of

        node = self.node

        data_mounts = self.data_mounts

        published_domains = self.published_domains

        url = self.url

        lease_until = self.lease_until

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if config is not UNSET:
            field_dict["config"] = config
        if environment is not UNSET:
            field_dict["environment"] = environment
        if port is not UNSET:
            field_dict["port"] = port
        if protocol is not UNSET:
            field_dict["protocol"] = protocol
        if termination_grace_period_seconds is not UNSET:
            field_dict["termination_grace_period_seconds"] = (
                termination_grace_period_seconds
            )
        if url_settings is not UNSET:
            field_dict["url_settings"] = url_settings
        if tags is not UNSET:
            field_dict["tags"] = tags
        if id is not UNSET:
            field_dict["id"] = id
        if name is not UNSET:
            field_dict["name"] = name
        if project is not UNSET:
            field_dict["project"] = project
        if status is not UNSET:
            field_dict["status"] = status
        if state is not UNSET:
            field_dict["state"] = state
        if created_at is not UNSET:
            field_dict["created_at"] = created_at
        if updated_at is not UNSET:
            field_dict["updated_at"] = updated_at
        if base is not UNSET:
            field_dict["base"] = base
        if fork_of is not UNSET:
            field_dict["fork_of"] = fork_of
        if node is not UNSET:
            field_dict["node"] = node
        if data_mounts is not UNSET:
            field_dict["data_mounts"] = data_mounts
        if published_domains is not UNSET:
            field_dict["published_domains"] = published_domains
        if url is not UNSET:
            field_dict["url"] = url
        if lease_until is not UNSET:
            field_dict["lease_until"] = lease_until

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_config_input import BoxConfigInput
        from ..models.environment import Environment
        from ..models.tags import Tags
        from ..models.update_box_url_settings_type_0 import UpdateBoxUrlSettingsType0

        d = dict(src_dict)

        def _parse_config(data: object) -> BoxConfigInput | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                config_type_0 = BoxConfigInput.from_dict(data)

                return config_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxConfigInput | None | Unset, data)

        config = _parse_config(d.pop("config", UNSET))

        def _parse_environment(data: object) -> Environment | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                environment_type_0 = Environment.from_dict(data)

                return environment_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Environment | None | Unset, data)

        environment = _parse_environment(d.pop("environment", UNSET))

        def _parse_port(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        port = _parse_port(d.pop("port", UNSET))

        def _parse_protocol(data: object) -> None | Unset | UpdateBoxProtocolType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_type_0 = UpdateBoxProtocolType0(data)

                return protocol_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UpdateBoxProtocolType0, data)

        protocol = _parse_protocol(d.pop("protocol", UNSET))

        def _parse_termination_grace_period_seconds(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        termination_grace_period_seconds = _parse_termination_grace_period_seconds(
            d.pop("termination_grace_period_seconds", UNSET)
        )

        def _parse_url_settings(
            data: object,
        ) -> None | Unset | UpdateBoxUrlSettingsType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                url_settings_type_0 = UpdateBoxUrlSettingsType0.from_dict(data)

                return url_settings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UpdateBoxUrlSettingsType0, data)

        url_settings = _parse_url_settings(d.pop("url_settings", UNSET))

        def _parse_tags(data: object) -> None | Tags | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                tags_type_0 = Tags.from_dict(data)

                return tags_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Tags | Unset, data)

        tags = _parse_tags(d.pop("tags", UNSET))

        id = d.pop("id", UNSET)

        name = d.pop("name", UNSET)

        project = d.pop("project", UNSET)

        status = d.pop("status", UNSET)

        state = d.pop("state", UNSET)

        created_at = d.pop("created_at", UNSET)

        updated_at = d.pop("updated_at", UNSET)

        base = d.pop("base", UNSET)

        fork_of = d.pop("fork_of", UNSET)

        node = d.pop("node", UNSET)

        data_mounts = d.pop("data_mounts", UNSET)

        published_domains = d.pop("published_domains", UNSET)

        url = d.pop("url", UNSET)

        lease_until = d.pop("lease_until", UNSET)

        update_box = cls(
            config=config,
            environment=environment,
            port=port,
            protocol=protocol,
            termination_grace_period_seconds=termination_grace_period_seconds,
            url_settings=url_settings,
            tags=tags,
            id=id,
            name=name,
            project=project,
            status=status,
            state=state,
            created_at=created_at,
            updated_at=updated_at,
            base=base,
            fork_of=fork_of,
            node=node,
            data_mounts=data_mounts,
            published_domains=published_domains,
            url=url,
            lease_until=lease_until,
        )

        return update_box
