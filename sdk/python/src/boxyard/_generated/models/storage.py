from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.scrub import Scrub
    from ..models.storage_bases_item import StorageBasesItem
    from ..models.storage_boxes_item import StorageBoxesItem
    from ..models.storage_cells_item import StorageCellsItem
    from ..models.storage_orphans_item import StorageOrphansItem
    from ..models.storage_pool_type_0 import StoragePoolType0
    from ..models.storage_projects_item import StorageProjectsItem
    from ..models.storage_volumes_item import StorageVolumesItem


T = TypeVar("T", bound="Storage")


@_attrs_define
class Storage:
    """
    Attributes:
        pool (None | StoragePoolType0): Null for a token that does not cover all projects.
        boxes (list[StorageBoxesItem]): Boxes of the projects the token can read.
        volumes (list[StorageVolumesItem]): Data volumes of the projects the token can read.
        bases (list[StorageBasesItem]): Bases of the projects the token can read, and shared bases.
        projects (list[StorageProjectsItem]): Total storage of each project the token can read.
        orphans (list[StorageOrphansItem]): Subvolumes without a record, which the service keeps. Empty for a token that
            does not cover all projects.
        deleting (float | None): Subvolumes that await deletion, including box copies in which previews run. Null for a
            token that does not cover all projects.
        scrub (None | Scrub): The running scrub, or else the last one. Null if there was none, and for a token that does
            not cover all projects.
        cells (list[StorageCellsItem] | Unset): The same values for each cell of a fleet; the fields above are the sums.
            Absent without a fleet, and for a token that does not cover all projects.
    """

    pool: None | StoragePoolType0
    boxes: list[StorageBoxesItem]
    volumes: list[StorageVolumesItem]
    bases: list[StorageBasesItem]
    projects: list[StorageProjectsItem]
    orphans: list[StorageOrphansItem]
    deleting: float | None
    scrub: None | Scrub
    cells: list[StorageCellsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.scrub import Scrub
        from ..models.storage_pool_type_0 import StoragePoolType0

        pool: dict[str, Any] | None
        if isinstance(self.pool, StoragePoolType0):
            pool = self.pool.to_dict()
        else:
            pool = self.pool

        boxes = []
        for boxes_item_data in self.boxes:
            boxes_item = boxes_item_data.to_dict()
            boxes.append(boxes_item)

        volumes = []
        for volumes_item_data in self.volumes:
            volumes_item = volumes_item_data.to_dict()
            volumes.append(volumes_item)

        bases = []
        for bases_item_data in self.bases:
            bases_item = bases_item_data.to_dict()
            bases.append(bases_item)

        projects = []
        for projects_item_data in self.projects:
            projects_item = projects_item_data.to_dict()
            projects.append(projects_item)

        orphans = []
        for orphans_item_data in self.orphans:
            orphans_item = orphans_item_data.to_dict()
            orphans.append(orphans_item)

        deleting: float | None
        deleting = self.deleting

        scrub: dict[str, Any] | None
        if isinstance(self.scrub, Scrub):
            scrub = self.scrub.to_dict()
        else:
            scrub = self.scrub

        cells: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.cells, Unset):
            cells = []
            for cells_item_data in self.cells:
                cells_item = cells_item_data.to_dict()
                cells.append(cells_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "pool": pool,
                "boxes": boxes,
                "volumes": volumes,
                "bases": bases,
                "projects": projects,
                "orphans": orphans,
                "deleting": deleting,
                "scrub": scrub,
            }
        )
        if cells is not UNSET:
            field_dict["cells"] = cells

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.scrub import Scrub
        from ..models.storage_bases_item import StorageBasesItem
        from ..models.storage_boxes_item import StorageBoxesItem
        from ..models.storage_cells_item import StorageCellsItem
        from ..models.storage_orphans_item import StorageOrphansItem
        from ..models.storage_pool_type_0 import StoragePoolType0
        from ..models.storage_projects_item import StorageProjectsItem
        from ..models.storage_volumes_item import StorageVolumesItem

        d = dict(src_dict)

        def _parse_pool(data: object) -> None | StoragePoolType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                pool_type_0 = StoragePoolType0.from_dict(data)

                return pool_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | StoragePoolType0, data)

        pool = _parse_pool(d.pop("pool"))

        boxes = []
        _boxes = d.pop("boxes")
        for boxes_item_data in _boxes:
            boxes_item = StorageBoxesItem.from_dict(boxes_item_data)

            boxes.append(boxes_item)

        volumes = []
        _volumes = d.pop("volumes")
        for volumes_item_data in _volumes:
            volumes_item = StorageVolumesItem.from_dict(volumes_item_data)

            volumes.append(volumes_item)

        bases = []
        _bases = d.pop("bases")
        for bases_item_data in _bases:
            bases_item = StorageBasesItem.from_dict(bases_item_data)

            bases.append(bases_item)

        projects = []
        _projects = d.pop("projects")
        for projects_item_data in _projects:
            projects_item = StorageProjectsItem.from_dict(projects_item_data)

            projects.append(projects_item)

        orphans = []
        _orphans = d.pop("orphans")
        for orphans_item_data in _orphans:
            orphans_item = StorageOrphansItem.from_dict(orphans_item_data)

            orphans.append(orphans_item)

        def _parse_deleting(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        deleting = _parse_deleting(d.pop("deleting"))

        def _parse_scrub(data: object) -> None | Scrub:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                scrub_type_0 = Scrub.from_dict(data)

                return scrub_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Scrub, data)

        scrub = _parse_scrub(d.pop("scrub"))

        _cells = d.pop("cells", UNSET)
        cells: list[StorageCellsItem] | Unset = UNSET
        if _cells is not UNSET:
            cells = []
            for cells_item_data in _cells:
                cells_item = StorageCellsItem.from_dict(cells_item_data)

                cells.append(cells_item)

        storage = cls(
            pool=pool,
            boxes=boxes,
            volumes=volumes,
            bases=bases,
            projects=projects,
            orphans=orphans,
            deleting=deleting,
            scrub=scrub,
            cells=cells,
        )

        storage.additional_properties = d
        return storage

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
