"""Server addresses: which are well formed, which are this machine's or its network's."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from physplan.errors import PhysPlanError

HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
# A resolver takes 134744072, 0x8080808 and 010.8.8.8 for the address 8.8.8.8: what ends so is no name.
NUMERIC = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)")


def check_url(url: str) -> str:
    """The host of a server's address, or one sentence on what is wrong with it."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    printable = url.isascii() and url.isprintable() and not set(url) & set(" \\")
    if parts.scheme not in ("http", "https") or not host or not printable or port == 0:
        raise PhysPlanError(
            "The server's address must look like https://host/v1 or http://localhost:8000/v1."
        )
    if parts.username or parts.password or parts.query or parts.fragment or "@" in parts.netloc:
        raise PhysPlanError("The server's address must not hold a key: set it in the environment instead.")
    if not _usual(host):
        raise PhysPlanError(
            f"The host {host} is an address in an unusual form: write it as a name, as 127.0.0.1 or as [::1]."
        )
    if parts.scheme == "http" and not is_local(url):
        raise PhysPlanError(f"{host} is not on this network: use https, or the key can be read on the way.")
    return host


def is_loopback(host: str) -> bool:
    """Whether the server is on this very machine."""
    address = _ip(host)
    return host in ("localhost", "::1") or (
        address is not None and address.version == 4 and address.is_loopback
    )


def is_local(url: str) -> bool:
    """Whether the server is on this machine or its private network, where tokens have no list price."""
    host = urlsplit(url).hostname or ""
    if not _usual(host):
        return False
    if address := _ip(host):
        return address.is_private or address.is_loopback
    return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def _usual(host: str) -> bool:
    address = _ip(host)
    if address is None:
        return bool(HOST.fullmatch(host)) and not NUMERIC.fullmatch(host)
    return address.version == 4 or not (
        address.ipv4_mapped or address.sixtofour or address.teredo or "%" in host
    )


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
