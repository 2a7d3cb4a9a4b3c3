from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.operation_status import OperationStatus

if TYPE_CHECKING:
    from ..models.operation_error_type_0 import OperationErrorType0


T = TypeVar("T", bound="Operation")


@_attrs_define
class Operation:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        kind (str): Kind of operation, such as `box.stop` or `backup.create`.
        status (OperationStatus | str):
        progress (float | None): Progress from 0 to 1. Null if unknown, and after the end.
        resource (str): Path of the resource.
        error (None | OperationErrorType0): The problem with all its fields if the operation failed. Null otherwise.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        ended_at (datetime.datetime | None): When the operation ended. Null while it runs.
    """

    id: str
    kind: str
    status: OperationStatus | str
    progress: float | None
    resource: str
    error: None | OperationErrorType0
    created_at: datetime.datetime
    ended_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.operation_error_type_0 import OperationErrorType0

        id = self.id

        kind = self.kind

        status: str
        if isinstance(self.status, OperationStatus):
            status = OperationStatus(self.status).value
        else:
            status = self.status

        progress: float | None
        progress = self.progress

        resource = self.resource

        error: dict[str, Any] | None
        if isinstance(self.error, OperationErrorType0):
            error = self.error.to_dict()
        else:
            error = self.error

        created_at = self.created_at.isoformat()

        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "kind": kind,
                "status": status,
                "progress": progress,
                "resource": resource,
                "error": error,
                "created_at": created_at,
                "ended_at": ended_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.operation_error_type_0 import OperationErrorType0

        d = dict(src_dict)
        id = d.pop("id")

        kind = d.pop("kind")

        def _parse_status(data: object) -> OperationStatus | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                status_status = OperationStatus(data)

                return status_status
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(OperationStatus | str, data)

        status = _parse_status(d.pop("status"))

        def _parse_progress(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        progress = _parse_progress(d.pop("progress"))

        resource = d.pop("resource")

        def _parse_error(data: object) -> None | OperationErrorType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = OperationErrorType0.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OperationErrorType0, data)

        error = _parse_error(d.pop("error"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = datetime.datetime.fromisoformat(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        ended_at = _parse_ended_at(d.pop("ended_at"))

        operation = cls(
            id=id,
            kind=kind,
            status=status,
            progress=progress,
            resource=resource,
            error=error,
            created_at=created_at,
            ended_at=ended_at,
        )

        operation.additional_properties = d
        return operation

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
