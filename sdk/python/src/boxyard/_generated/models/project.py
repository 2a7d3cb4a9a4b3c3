from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.project_allowed import ProjectAllowed
    from ..models.project_boxes import ProjectBoxes
    from ..models.project_used import ProjectUsed


T = TypeVar("T", bound="Project")


@_attrs_define
class Project:
    """
    Attributes:
        project (str): A name, unique in its project.
        allowed (ProjectAllowed): Quota of the project, null for unlimited. If it was never set, `defaults.quota` of
            `GET /v1/config` applies.
        used (ProjectUsed): Current usage that counts against the quota.
        updated_at (datetime.datetime | None): When the quota last changed. Null if it was never set.
        boxes (ProjectBoxes): Number of boxes by status. The sum equals `used.boxes`.
        volumes (int): Number of data volumes.
    """

    project: str
    allowed: ProjectAllowed
    used: ProjectUsed
    updated_at: datetime.datetime | None
    boxes: ProjectBoxes
    volumes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        project = self.project

        allowed = self.allowed.to_dict()

        used = self.used.to_dict()

        updated_at: None | str
        if isinstance(self.updated_at, datetime.datetime):
            updated_at = self.updated_at.isoformat()
        else:
            updated_at = self.updated_at

        boxes = self.boxes.to_dict()

        volumes = self.volumes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "project": project,
                "allowed": allowed,
                "used": used,
                "updated_at": updated_at,
                "boxes": boxes,
                "volumes": volumes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.project_allowed import ProjectAllowed
        from ..models.project_boxes import ProjectBoxes
        from ..models.project_used import ProjectUsed

        d = dict(src_dict)
        project = d.pop("project")

        allowed = ProjectAllowed.from_dict(d.pop("allowed"))

        used = ProjectUsed.from_dict(d.pop("used"))

        def _parse_updated_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                updated_at_type_0 = datetime.datetime.fromisoformat(data)

                return updated_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        updated_at = _parse_updated_at(d.pop("updated_at"))

        boxes = ProjectBoxes.from_dict(d.pop("boxes"))

        volumes = d.pop("volumes")

        project = cls(
            project=project,
            allowed=allowed,
            used=used,
            updated_at=updated_at,
            boxes=boxes,
            volumes=volumes,
        )

        project.additional_properties = d
        return project

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
