from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.project_ticket_request_operation import ProjectTicketRequestOperation
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.project_ticket_request_query import ProjectTicketRequestQuery


T = TypeVar("T", bound="ProjectTicketRequest")


@_attrs_define
class ProjectTicketRequest:
    """
    Attributes:
        operation (ProjectTicketRequestOperation): `operationId` of the operation to create the ticket for.
        query (ProjectTicketRequestQuery | Unset): Query of the operation. The ticket only works with this query.
    """

    operation: ProjectTicketRequestOperation | str
    query: ProjectTicketRequestQuery | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        operation = ProjectTicketRequestOperation(self.operation).value

        query: dict[str, Any] | Unset = UNSET
        if not isinstance(self.query, Unset):
            query = self.query.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "operation": operation,
            }
        )
        if query is not UNSET:
            field_dict["query"] = query

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.project_ticket_request_query import ProjectTicketRequestQuery

        d = dict(src_dict)
        operation = ProjectTicketRequestOperation(d.pop("operation"))

        _query = d.pop("query", UNSET)
        query: ProjectTicketRequestQuery | Unset
        if isinstance(_query, Unset):
            query = UNSET
        else:
            query = ProjectTicketRequestQuery.from_dict(_query)

        project_ticket_request = cls(
            operation=operation,
            query=query,
        )

        return project_ticket_request
