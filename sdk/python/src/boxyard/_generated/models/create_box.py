from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.create_box_protocol_type_0 import CreateBoxProtocolType0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.box_config_input import BoxConfigInput
    from ..models.create_box_data_mounts_type_0_item import CreateBoxDataMountsType0Item
    from ..models.create_box_url_settings_type_0 import CreateBoxUrlSettingsType0
    from ..models.environment import Environment
    from ..models.tags import Tags


T = TypeVar("T", bound="CreateBox")


@_attrs_define
class CreateBox:
    """
    Attributes:
        name (str): A name, unique in its project.
        base (None | str | Unset): Base to create the box from. If null or absent, the default base of `GET /v1/config`.
        fork (None | str | Unset): Box of the project to clone with its current disk, or `box@snapshot`. Null for none.
            Not allowed with `base`.
        config (BoxConfigInput | Unset):
        node (str | Unset): Node to place the box on, as in the `node` field of boxes. Any node if absent.
        data_mounts (list[CreateBoxDataMountsType0Item] | None | Unset): Data volumes of the project to attach before
            the box runs. Null for none.
        environment (Environment | Unset): Variables by name. `BOX_*` and `BOXYARD_*` are reserved.
        tags (Tags | Unset): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
        port (int | None | Unset): Port its URL forwards to. 0 and null unset it.
        protocol (CreateBoxProtocolType0 | None | Unset):
        termination_grace_period_seconds (int | None | Unset): Seconds from SIGTERM to SIGKILL on stop.
        url_settings (CreateBoxUrlSettingsType0 | None | Unset):
    """

    name: str
    base: None | str | Unset = UNSET
    fork: None | str | Unset = UNSET
    config: BoxConfigInput | Unset = UNSET
    node: str | Unset = UNSET
    data_mounts: list[CreateBoxDataMountsType0Item] | None | Unset = UNSET
    environment: Environment | Unset = UNSET
    tags: Tags | Unset = UNSET
    port: int | None | Unset = UNSET
    protocol: CreateBoxProtocolType0 | None | Unset = UNSET
    termination_grace_period_seconds: int | None | Unset = UNSET
    url_settings: CreateBoxUrlSettingsType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.create_box_url_settings_type_0 import CreateBoxUrlSettingsType0

        name = self.name

        base: None | str | Unset
        if isinstance(self.base, Unset):
            base = UNSET
        else:
            base = self.base

        fork: None | str | Unset
        if isinstance(self.fork, Unset):
            fork = UNSET
        else:
            fork = self.fork

        config: dict[str, Any] | Unset = UNSET
        if not isinstance(self.config, Unset):
            config = self.config.to_dict()

        node = self.node

        data_mounts: list[dict[str, Any]] | None | Unset
        if isinstance(self.data_mounts, Unset):
            data_mounts = UNSET
        elif isinstance(self.data_mounts, list):
            data_mounts = []
            for data_mounts_type_0_item_data in self.data_mounts:
                data_mounts_type_0_item = data_mounts_type_0_item_data.to_dict()
                data_mounts.append(data_mounts_type_0_item)

        else:
            data_mounts = self.data_mounts

        environment: dict[str, Any] | Unset = UNSET
        if not isinstance(self.environment, Unset):
            environment = self.environment.to_dict()

        tags: dict[str, Any] | Unset = UNSET
        if not isinstance(self.tags, Unset):
            tags = self.tags.to_dict()

        port: int | None | Unset
        if isinstance(self.port, Unset):
            port = UNSET
        else:
            port = self.port

        protocol: None | str | Unset
        if isinstance(self.protocol, Unset):
            protocol = UNSET
        elif isinstance(self.protocol, CreateBoxProtocolType0):
            protocol = CreateBoxProtocolType0(self.protocol).value
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
        elif isinstance(self.url_settings, CreateBoxUrlSettingsType0):
            url_settings = self.url_settings.to_dict()
        else:
            url_settings = self.url_settings

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
            }
        )
        if base is not UNSET:
            field_dict["base"] = base
        if fork is not UNSET:
            field_dict["fork"] = fork
        if config is not UNSET:
            field_dict["config"] = config
        if node is not UNSET:
            field_dict["node"] = node
        if data_mounts is not UNSET:
            field_dict["data_mounts"] = data_mounts
        if environment is not UNSET:
            field_dict["environment"] = environment
        if tags is not UNSET:
            field_dict["tags"] = tags
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

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_config_input import BoxConfigInput
        from ..models.create_box_data_mounts_type_0_item import (
            CreateBoxDataMountsType0Item,
        )
        from ..models.create_box_url_settings_type_0 import CreateBoxUrlSettingsType0
        from ..models.environment import Environment
        from ..models.tags import Tags

        d = dict(src_dict)
        name = d.pop("name")

        def _parse_base(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        base = _parse_base(d.pop("base", UNSET))

        def _parse_fork(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fork = _parse_fork(d.pop("fork", UNSET))

        _config = d.pop("config", UNSET)
        config: BoxConfigInput | Unset
        if isinstance(_config, Unset):
            config = UNSET
        else:
            config = BoxConfigInput.from_dict(_config)

        node = d.pop("node", UNSET)

        def _parse_data_mounts(
            data: object,
        ) -> list[CreateBoxDataMountsType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                data_mounts_type_0 = []
                _data_mounts_type_0 = data
                for data_mounts_type_0_item_data in _data_mounts_type_0:
                    data_mounts_type_0_item = CreateBoxDataMountsType0Item.from_dict(
                        data_mounts_type_0_item_data
                    )

                    data_mounts_type_0.append(data_mounts_type_0_item)

                return data_mounts_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CreateBoxDataMountsType0Item] | None | Unset, data)

        data_mounts = _parse_data_mounts(d.pop("data_mounts", UNSET))

        _environment = d.pop("environment", UNSET)
        environment: Environment | Unset
        if isinstance(_environment, Unset):
            environment = UNSET
        else:
            environment = Environment.from_dict(_environment)

        _tags = d.pop("tags", UNSET)
        tags: Tags | Unset
        if isinstance(_tags, Unset):
            tags = UNSET
        else:
            tags = Tags.from_dict(_tags)

        def _parse_port(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        port = _parse_port(d.pop("port", UNSET))

        def _parse_protocol(data: object) -> CreateBoxProtocolType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_type_0 = CreateBoxProtocolType0(data)

                return protocol_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CreateBoxProtocolType0 | None | Unset, data)

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
        ) -> CreateBoxUrlSettingsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                url_settings_type_0 = CreateBoxUrlSettingsType0.from_dict(data)

                return url_settings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CreateBoxUrlSettingsType0 | None | Unset, data)

        url_settings = _parse_url_settings(d.pop("url_settings", UNSET))

        create_box = cls(
            name=name,
            base=base,
            fork=fork,
            config=config,
            node=node,
            data_mounts=data_mounts,
            environment=environment,
            tags=tags,
            port=port,
            protocol=protocol,
            termination_grace_period_seconds=termination_grace_period_seconds,
            url_settings=url_settings,
        )

        return create_box
