from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.scrub import Scrub
    from ..models.storage_cells_item_pool import StorageCellsItemPool


T = TypeVar("T", bound="StorageCellsItem")


@_attrs_define
class StorageCellsItem:
    """
    Attributes:
        cell (str): Number of the cell.
        pool (StorageCellsItemPool):
        deleting (float):
        scrub (None | Scrub):
    """

    cell: str
    pool: StorageCellsItemPool
    deleting: float
    scrub: None | Scrub
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.scrub import Scrub

        cell = self.cell

        pool = self.pool.to_dict()

        deleting = self.deleting

        scrub: dict[str, Any] | None
        if isinstance(self.scrub, Scrub):
            scrub = self.scrub.to_dict()
        else:
            scrub = self.scrub

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cell": cell,
                "pool": pool,
                "deleting": deleting,
                "scrub": scrub,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.scrub import Scrub
        from ..models.storage_cells_item_pool import StorageCellsItemPool

        d = dict(src_dict)
        cell = d.pop("cell")

        pool = StorageCellsItemPool.from_dict(d.pop("pool"))

        deleting = d.pop("deleting")

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

        storage_cells_item = cls(
            cell=cell,
            pool=pool,
            deleting=deleting,
            scrub=scrub,
        )

        storage_cells_item.additional_properties = d
        return storage_cells_item

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
