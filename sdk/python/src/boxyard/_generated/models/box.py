from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.box_protocol import BoxProtocol
from ..models.box_status import BoxStatus

if TYPE_CHECKING:
    from ..models.box_config import BoxConfig
    from ..models.box_data_mounts_item import BoxDataMountsItem
    from ..models.box_state import BoxState
    from ..models.box_url_settings import BoxUrlSettings
    from ..models.environment import Environment
    from ..models.tags import Tags


T = TypeVar("T", bound="Box")


@_attrs_define
class Box:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str): A name, unique in its project.
        project (str): A name, unique in its project.
        status (BoxStatus | str):
        state (BoxState):
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        updated_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        base (None | str): Base of the box, or of the box it was forked from.
        fork_of (None | str): Box it was forked from, without the snapshot name. Null if it was created from a base.
        node (str): Node of the cluster that runs the box. Without a cluster, the region.
        config (BoxConfig):
        data_mounts (list[BoxDataMountsItem]): Data volumes attached to the box.
        environment (Environment): Variables by name. `BOX_*` and `BOXYARD_*` are reserved.
        port (int | None): Port that its URL forwards to. Null for 8080.
        protocol (BoxProtocol | str): Protocol of the port: `http`, the default, or `h2c`. `h2c` is HTTP/2 without TLS,
            for example for gRPC servers.
        published_domains (list[str]): Custom domains, in addition to its URL.
        tags (Tags): Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.
        termination_grace_period_seconds (int): Seconds from SIGTERM to SIGKILL on stop.
        url (None | str): URL that forwards to `port`. Every box has one.
        url_settings (BoxUrlSettings):
        lease_until (datetime.datetime | None): End of its lease, maybe in the past. Null for none.
    """

    id: str
    name: str
    project: str
    status: BoxStatus | str
    state: BoxState
    created_at: datetime.datetime
    updated_at: datetime.datetime
    base: None | str
    fork_of: None | str
    node: str
    config: BoxConfig
    data_mounts: list[BoxDataMountsItem]
    environment: Environment
    port: int | None
    protocol: BoxProtocol | str
    published_domains: list[str]
    tags: Tags
    termination_grace_period_seconds: int
    url: None | str
    url_settings: BoxUrlSettings
    lease_until: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        project = self.project

        status: str
        if isinstance(self.status, BoxStatus):
            status = BoxStatus(self.status).value
        else:
            status = self.status

        state = self.state.to_dict()

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        base: None | str
        base = self.base

        fork_of: None | str
        fork_of = self.fork_of

        node = self.node

        config = self.config.to_dict()

        data_mounts = []
        for data_mounts_item_data in self.data_mounts:
            data_mounts_item = data_mounts_item_data.to_dict()
            data_mounts.append(data_mounts_item)

        environment = self.environment.to_dict()

        port: int | None
        port = self.port

        protocol: str
        if isinstance(self.protocol, BoxProtocol):
            protocol = BoxProtocol(self.protocol).value
        else:
            protocol = self.protocol

        published_domains = self.published_domains

        tags = self.tags.to_dict()

        termination_grace_period_seconds = self.termination_grace_period_seconds

        url: None | str
        url = self.url

        url_settings = self.url_settings.to_dict()

        lease_until: None | str
        if isinstance(self.lease_until, datetime.datetime):
            lease_until = self.lease_until.isoformat()
        else:
            lease_until = self.lease_until

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "project": project,
                "status": status,
                "state": state,
                "created_at": created_at,
                "updated_at": updated_at,
                "base": base,
                "fork_of": fork_of,
                "node": node,
                "config": config,
                "data_mounts": data_mounts,
                "environment": environment,
                "port": port,
                "protocol": protocol,
                "published_domains": published_domains,
                "tags": tags,
                "termination_grace_period_seconds": termination_grace_period_seconds,
                "url": url,
                "url_settings": url_settings,
                "lease_until": lease_until,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.box_config import BoxConfig
        from ..models.box_data_mounts_item import BoxDataMountsItem
        from ..models.box_state import BoxState
        from ..models.box_url_settings import BoxUrlSettings
        from ..models.environment import Environment
        from ..models.tags import Tags

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        project = d.pop("project")

        def _parse_status(data: object) -> BoxStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_type_0 = BoxStatus(data)

                return status_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxStatus | str, data)

        status = _parse_status(d.pop("status"))

        state = BoxState.from_dict(d.pop("state"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        def _parse_base(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        base = _parse_base(d.pop("base"))

        def _parse_fork_of(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fork_of = _parse_fork_of(d.pop("fork_of"))

        node = d.pop("node")

        config = BoxConfig.from_dict(d.pop("config"))

        data_mounts = []
        _data_mounts = d.pop("data_mounts")
        for data_mounts_item_data in _data_mounts:
            data_mounts_item = BoxDataMountsItem.from_dict(data_mounts_item_data)

            data_mounts.append(data_mounts_item)

        environment = Environment.from_dict(d.pop("environment"))

        def _parse_port(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        port = _parse_port(d.pop("port"))

        def _parse_protocol(data: object) -> BoxProtocol | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                protocol_protocol = BoxProtocol(data)

                return protocol_protocol
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BoxProtocol | str, data)

        protocol = _parse_protocol(d.pop("protocol"))

        published_domains = cast(list[str], d.pop("published_domains"))

        tags = Tags.from_dict(d.pop("tags"))

        termination_grace_period_seconds = d.pop("termination_grace_period_seconds")

        def _parse_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        url = _parse_url(d.pop("url"))

        url_settings = BoxUrlSettings.from_dict(d.pop("url_settings"))

        def _parse_lease_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                lease_until_type_0 = datetime.datetime.fromisoformat(data)

                return lease_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        lease_until = _parse_lease_until(d.pop("lease_until"))

        box = cls(
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
            config=config,
            data_mounts=data_mounts,
            environment=environment,
            port=port,
            protocol=protocol,
            published_domains=published_domains,
            tags=tags,
            termination_grace_period_seconds=termination_grace_period_seconds,
            url=url,
            url_settings=url_settings,
            lease_until=lease_until,
        )

        box.additional_properties = d
        return box

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
