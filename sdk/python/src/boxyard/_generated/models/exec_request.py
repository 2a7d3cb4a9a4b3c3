from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.exec_request_encoding import ExecRequestEncoding
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.environment import Environment


T = TypeVar("T", bound="ExecRequest")


@_attrs_define
class ExecRequest:
    """
    Attributes:
        command (list[str] | Unset): Program and arguments, at most 262,144 bytes in total and 131,071 bytes each. Pass
            longer input in stdin or a file.
        shell (str | Unset): Command line for `/bin/sh -c`.
        cwd (str | Unset): Absolute path of the working directory. Default: the home directory of the user.
        env (Environment | Unset): Variables by name. `BOX_*` and `BOXYARD_*` are reserved.
        user (str | Unset): User in the box, by name or number, optionally with `:group`. Default: root.
        stdin (str | Unset): Input as text, or as base64 with `encoding: "base64"`.
        tty (bool | Unset): Runs the command in a terminal of 80 by 24 characters. All output is then stdout.
        no_hup (bool | Unset): Keeps the command running across restarts of the service, with its exit code. The
            response arrives as soon as the command starts.
        timeout_seconds (float | Unset): Kills the whole process group after this many seconds. Default: no timeout.
        encoding (ExecRequestEncoding | Unset): Encoding of stdin, stdout and stderr in JSON. Default: utf-8.
    """

    command: list[str] | Unset = UNSET
    shell: str | Unset = UNSET
    cwd: str | Unset = UNSET
    env: Environment | Unset = UNSET
    user: str | Unset = UNSET
    stdin: str | Unset = UNSET
    tty: bool | Unset = UNSET
    no_hup: bool | Unset = UNSET
    timeout_seconds: float | Unset = UNSET
    encoding: ExecRequestEncoding | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        command: list[str] | Unset = UNSET
        if not isinstance(self.command, Unset):
            command = self.command

        shell = self.shell

        cwd = self.cwd

        env: dict[str, Any] | Unset = UNSET
        if not isinstance(self.env, Unset):
            env = self.env.to_dict()

        user = self.user

        stdin = self.stdin

        tty = self.tty

        no_hup = self.no_hup

        timeout_seconds = self.timeout_seconds

        encoding: str | Unset = UNSET
        if not isinstance(self.encoding, Unset):
            encoding = ExecRequestEncoding(self.encoding).value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if command is not UNSET:
            field_dict["command"] = command
        if shell is not UNSET:
            field_dict["shell"] = shell
        if cwd is not UNSET:
            field_dict["cwd"] = cwd
        if env is not UNSET:
            field_dict["env"] = env
        if user is not UNSET:
            field_dict["user"] = user
        if stdin is not UNSET:
            field_dict["stdin"] = stdin
        if tty is not UNSET:
            field_dict["tty"] = tty
        if no_hup is not UNSET:
            field_dict["no_hup"] = no_hup
        if timeout_seconds is not UNSET:
            field_dict["timeout_seconds"] = timeout_seconds
        if encoding is not UNSET:
            field_dict["encoding"] = encoding

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.environment import Environment

        d = dict(src_dict)
        command = cast(list[str], d.pop("command", UNSET))

        shell = d.pop("shell", UNSET)

        cwd = d.pop("cwd", UNSET)

        _env = d.pop("env", UNSET)
        env: Environment | Unset
        if isinstance(_env, Unset):
            env = UNSET
        else:
            env = Environment.from_dict(_env)

        user = d.pop("user", UNSET)

        stdin = d.pop("stdin", UNSET)

        tty = d.pop("tty", UNSET)

        no_hup = d.pop("no_hup", UNSET)

        timeout_seconds = d.pop("timeout_seconds", UNSET)

        _encoding = d.pop("encoding", UNSET)
        encoding: ExecRequestEncoding | Unset
        if isinstance(_encoding, Unset):
            encoding = UNSET
        else:
            encoding = ExecRequestEncoding(_encoding)

        exec_request = cls(
            command=command,
            shell=shell,
            cwd=cwd,
            env=env,
            user=user,
            stdin=stdin,
            tty=tty,
            no_hup=no_hup,
            timeout_seconds=timeout_seconds,
            encoding=encoding,
        )

        return exec_request
