"""Checks the URL of a service, and addresses that it names in a redirect or in the URL of a ticket."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import httpx

from ._problems import unexpected

HTTP = frozenset({"http", "https"})
WEBSOCKET = frozenset({"ws", "wss"})

_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}


_EXPECTED = "must begin with http:// or https://, such as https://boxes.example or http://127.0.0.1:8080."


def service_origin(url: str) -> str:
    """
    The origin of a service from its URL as people write it. Ignores white space around it and slashes at its end. A missing scheme is HTTP
    for this machine, because no network lies between, otherwise HTTPS. Raises ``ValueError`` for a URL that is not an origin. Its message
    holds no password, path or query, because they can be secret.
    """
    given = (url or "").strip().rstrip("/")
    if not given:
        raise ValueError(f"url: {_EXPECTED} It is empty.")
    try:
        parts = _split(given)
        origin = origin_of(parts.geturl())
        httpx.URL(origin)
    except (ValueError, httpx.InvalidURL):
        # The cause would show the URL.
        raise ValueError(f"url: {_EXPECTED} It is not a URL.") from None
    if parts.scheme not in HTTP:
        raise ValueError(f"url: {_EXPECTED} It begins with {parts.scheme}://.")
    if "@" in parts.netloc:
        raise ValueError(f"url: has a user name or a password, but the service takes a token. Use {origin}")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"url: has something after the host and port, such as a path. Use {origin}")
    return origin


def _split(given: str) -> SplitResult:
    """Splits a URL, and adds a missing scheme. Raises ``ValueError``."""
    # Parsers ignore some of these, and a host or port has none. `http:host` lacks its slashes.
    if re.search(r"[\s\x00-\x1f\x7f\\]", given) or re.match(r"https?:(?!//)", given, re.IGNORECASE):
        raise ValueError
    has_scheme = "://" in given
    parts = urlsplit(given if has_scheme else f"//{given}")
    if has_scheme and parts.scheme not in HTTP:
        return parts
    if not parts.hostname or (":" in parts.netloc.rpartition("@")[2].rpartition("]")[2] and parts.port is None):
        raise ValueError
    if has_scheme:
        return parts
    return parts._replace(scheme="http" if reach_of(parts.hostname) == "loopback" else "https")


def origin_of(url: str) -> str:
    """The origin of a URL, without a password, a path and a query, which may hold secrets."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{'' if port is None else f':{port}'}"


def has_same_origin(one: str, other: str) -> bool:
    """Whether two valid URLs lead to the same scheme, host and port."""
    return _origin(urlsplit(one)) == _origin(urlsplit(other))


def check_address(front: str, address: str, schemes: Collection[str]) -> None:
    """
    Checks an address that the service at ``front`` named. Raises ``ApiError`` for another scheme, a password, and plain text if ``front``
    is encrypted. Also raises it for an address of this machine or its link, unless ``front`` is one too.
    """
    obstacle = _obstacle(front, address, schemes)
    if obstacle is not None:
        raise unexpected(200, f"{origin_of(front)} sends this client to an address that it rejects: {obstacle}")


def reach_of(host: str) -> Literal["loopback", "link"] | None:
    """Whether a host is a loopback or link-local address, in any notation, or None for all others. Asks no name server."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    address = _numeric(name)
    if address is None:
        return None
    if address.is_loopback or address.is_unspecified or (address.version == 4 and int(address) < 2**24):
        return "loopback"
    return "link" if address.is_link_local else None


def _obstacle(front: str, address: str, schemes: Collection[str]) -> str | None:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is not a URL."
    # Libraries read other letters in different ways.
    if not host or re.search(r'[^\x21-\x7e]|[\\"<>^`{|}]', address):
        return "it is not a URL with a host."
    if parts.scheme not in schemes:
        return f"its scheme is not one of {', '.join(sorted(schemes))}."
    if "@" in parts.netloc:
        return "it has a user name or a password."
    known = urlsplit(front)
    if known.scheme == "https" and parts.scheme not in ("https", "wss"):
        return f"{origin_of(address)} is not encrypted, but the service is."
    reach = reach_of(host)
    if reach is not None and reach != reach_of(known.hostname or ""):
        return f"{origin_of(address)} is this machine or its link (BOXYARD_DATA_URL of the service sets the data address)."
    return None


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    return (parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme))


def _numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        # Also 127.1, 2130706433 and 0x7f.1, which resolvers accept.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        pass
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address
