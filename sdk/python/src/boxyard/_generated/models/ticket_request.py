from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.ticket_request_operation import TicketRequestOperation
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.ticket_request_query import TicketRequestQuery


T = TypeVar("T", bound="TicketRequest")


@_attrs_define
class TicketRequest:
    """
    Attributes:
        operation (TicketRequestOperation): `operationId` of the operation to create the ticket for.
        query (TicketRequestQuery | Unset): Query of the operation. The ticket only works with this query.
        service (str | Unset): A name, unique in its project.
        port (int | Unset): TCP port, for `openPort`.
    """

    operation: TicketRequestOperation | str
    query: TicketRequestQuery | Unset = UNSET
    service: str | Unset = UNSET
    port: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        operation = TicketRequestOperation(self.operation).value

        query: dict[str, Any] | Unset = UNSET
        if not isinstance(self.query, Unset):
            query = self.query.to_dict()

        service = self.service

        port = self.port

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "operation": operation,
            }
        )
        if query is not UNSET:
            field_dict["query"] = query
        if service is not UNSET:
            field_dict["service"] = service
        if port is not UNSET:
            field_dict["port"] = port

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.ticket_request_query import TicketRequestQuery

        d = dict(src_dict)
        operation = TicketRequestOperation(d.pop("operation"))

        _query = d.pop("query", UNSET)
        query: TicketRequestQuery | Unset
        if isinstance(_query, Unset):
            query = UNSET
        else:
            query = TicketRequestQuery.from_dict(_query)

        service = d.pop("service", UNSET)

        port = d.pop("port", UNSET)

        ticket_request = cls(
            operation=operation,
            query=query,
            service=service,
            port=port,
        )

        return ticket_request
