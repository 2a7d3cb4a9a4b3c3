from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Session")


@_attrs_define
class Session:
    """
    Attributes:
        id (str): A type prefix, `_`, then 26 base32 characters that sort by time.
        name (str): A name, unique in its project.
        box (str): A name, unique in its project.
        project (str): A name, unique in its project.
        command (list[str]): Program of the session and its arguments.
        user (str): Login name in the box, or the uid if there is none.
        process (int | None): Process id in the box. Null if it is not known.
        created_at (datetime.datetime): RFC 3339 in UTC, with milliseconds.
        cols (int): Width of the terminal in characters.
        rows (int): Height of the terminal in characters.
        viewers (int): Number of attached clients.
    """

    id: str
    name: str
    box: str
    project: str
    command: list[str]
    user: str
    process: int | None
    created_at: datetime.datetime
    cols: int
    rows: int
    viewers: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        box = self.box

        project = self.project

        command = self.command

        user = self.user

        process: int | None
        process = self.process

        created_at = self.created_at.isoformat()

        cols = self.cols

        rows = self.rows

        viewers = self.viewers

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "box": box,
                "project": project,
                "command": command,
                "user": user,
                "process": process,
                "created_at": created_at,
                "cols": cols,
                "rows": rows,
                "viewers": viewers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        box = d.pop("box")

        project = d.pop("project")

        command = cast(list[str], d.pop("command"))

        user = d.pop("user")

        def _parse_process(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        process = _parse_process(d.pop("process"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        cols = d.pop("cols")

        rows = d.pop("rows")

        viewers = d.pop("viewers")

        session = cls(
            id=id,
            name=name,
            box=box,
            project=project,
            command=command,
            user=user,
            process=process,
            created_at=created_at,
            cols=cols,
            rows=rows,
            viewers=viewers,
        )

        session.additional_properties = d
        return session

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
