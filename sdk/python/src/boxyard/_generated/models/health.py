from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.health_status import HealthStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.health_api import HealthApi
    from ..models.health_boxes import HealthBoxes
    from ..models.health_host import HealthHost
    from ..models.health_kubernetes import HealthKubernetes
    from ..models.health_problems_item import HealthProblemsItem


T = TypeVar("T", bound="Health")


@_attrs_define
class Health:
    """Without a valid token, optional fields are absent. While the agent cannot be reached, only `problems` of them is
    present.

        Attributes:
            status (HealthStatus | str): `degraded`: it serves requests, with problems. `unavailable` (HTTP 503): the agent
                is stopping, cannot be reached, or cannot read its database.
            api (HealthApi):
            errors (list[str]): One line per problem, with evidence and remedy. Empty without a valid token.
            problems (list[HealthProblemsItem] | Unset): The same problems as objects.
            boxes (HealthBoxes | Unset): Number of boxes of the deployment, by `status`. Absent if they cannot be counted,
                and for a token that does not cover all projects.
            host (HealthHost | Unset): Host of the agent, measured at the time of the request.
            kubernetes (HealthKubernetes | Unset):
            namespace (str | Unset): Kubernetes namespace of the boxes. Empty without a cluster.
    """

    status: HealthStatus | str
    api: HealthApi
    errors: list[str]
    problems: list[HealthProblemsItem] | Unset = UNSET
    boxes: HealthBoxes | Unset = UNSET
    host: HealthHost | Unset = UNSET
    kubernetes: HealthKubernetes | Unset = UNSET
    namespace: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str
        if isinstance(self.status, HealthStatus):
            status = HealthStatus(self.status).value
        else:
            status = self.status

        api = self.api.to_dict()

        errors = self.errors

        problems: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.problems, Unset):
            problems = []
            for problems_item_data in self.problems:
                problems_item = problems_item_data.to_dict()
                problems.append(problems_item)

        boxes: dict[str, Any] | Unset = UNSET
        if not isinstance(self.boxes, Unset):
            boxes = self.boxes.to_dict()

        host: dict[str, Any] | Unset = UNSET
        if not isinstance(self.host, Unset):
            host = self.host.to_dict()

        kubernetes: dict[str, Any] | Unset = UNSET
        if not isinstance(self.kubernetes, Unset):
            kubernetes = self.kubernetes.to_dict()

        namespace = self.namespace

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "api": api,
                "errors": errors,
            }
        )
        if problems is not UNSET:
            field_dict["problems"] = problems
        if boxes is not UNSET:
            field_dict["boxes"] = boxes
        if host is not UNSET:
            field_dict["host"] = host
        if kubernetes is not UNSET:
            field_dict["kubernetes"] = kubernetes
        if namespace is not UNSET:
            field_dict["namespace"] = namespace

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.health_api import HealthApi
        from ..models.health_boxes import HealthBoxes
        from ..models.health_host import HealthHost
        from ..models.health_kubernetes import HealthKubernetes
        from ..models.health_problems_item import HealthProblemsItem

        d = dict(src_dict)

        def _parse_status(data: object) -> HealthStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_status = HealthStatus(data)

                return status_status
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(HealthStatus | str, data)

        status = _parse_status(d.pop("status"))

        api = HealthApi.from_dict(d.pop("api"))

        errors = cast(list[str], d.pop("errors"))

        _problems = d.pop("problems", UNSET)
        problems: list[HealthProblemsItem] | Unset = UNSET
        if _problems is not UNSET:
            problems = []
            for problems_item_data in _problems:
                problems_item = HealthProblemsItem.from_dict(problems_item_data)

                problems.append(problems_item)

        _boxes = d.pop("boxes", UNSET)
        boxes: HealthBoxes | Unset
        if isinstance(_boxes, Unset):
            boxes = UNSET
        else:
            boxes = HealthBoxes.from_dict(_boxes)

        _host = d.pop("host", UNSET)
        host: HealthHost | Unset
        if isinstance(_host, Unset):
            host = UNSET
        else:
            host = HealthHost.from_dict(_host)

        _kubernetes = d.pop("kubernetes", UNSET)
        kubernetes: HealthKubernetes | Unset
        if isinstance(_kubernetes, Unset):
            kubernetes = UNSET
        else:
            kubernetes = HealthKubernetes.from_dict(_kubernetes)

        namespace = d.pop("namespace", UNSET)

        health = cls(
            status=status,
            api=api,
            errors=errors,
            problems=problems,
            boxes=boxes,
            host=host,
            kubernetes=kubernetes,
            namespace=namespace,
        )

        health.additional_properties = d
        return health

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
