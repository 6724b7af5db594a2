"""A page, its files and small JSON requests over HTTP, with the standard library.

Files are sent by an exact look-up: a path is never put together from a request. What changes something is a
POST of the page's own origin. Without a key only names of this machine are answered.
"""

from __future__ import annotations

import hmac
import json
import math
import os
import re
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import SplitResult, urlsplit

from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError

MAX_BODY = 16_384
CHUNK_BYTES = 1 << 16
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A page that a folder holds, such as a report: it looks as it was made, and can run and fetch nothing.
FOREIGN_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".mp4": "video/mp4",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".json": "application/json",
}


class Refused(Exception):
    """A request that no page of ours makes."""


class Answering(Protocol):
    def answer(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Site:
    """What is served: the page's own files from memory, others from their folder, all by name."""

    name: str  # what messages call it
    session: Answering
    key: str  # of the link, where others than this machine can reach it; else empty
    page: Mapping[str, bytes]  # the first is the page itself
    media: Callable[[str], Path | None]  # the file of a name; None where there is none
    max_body: int = MAX_BODY
    max_upload: int = 0  # bytes of a file; 0 where none is taken

    @property
    def start(self) -> str:
        return next(iter(self.page))


class PageServer(ThreadingHTTPServer):
    handler: type[Handler]
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], site: Site) -> None:
        self.site = site
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, self.handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was closed in the middle of a video is no error; others print no address."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"physplan: a request failed ({error!r}).", file=sys.stderr)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "physplan", ""
    timeout = 60  # seconds without a word from the browser

    def log_message(self, format: str, *args: Any) -> None:
        """No log: it would hold network addresses, and none are kept."""

    def do_GET(self) -> None:
        if not self._known_host():
            return self._fail(421, f"This address is not the {self.server.site.name}'s.")
        name = self._name()
        site = self.server.site
        if name is None:
            return self._fail(404, f"There is nothing here. Use the whole link of the {site.name}.")
        if (own := name or site.start) in site.page:
            return self._send(200, site.page[own], TYPES[Path(own).suffix])
        if (found := site.media(name)) is not None:
            return self._send_file(found)
        return self._fail(404, "There is nothing here.")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Refusals close the connection: what was sent along is not read."""
        site = self.server.site
        if not self._known_host() or not self._same_origin():
            return self._fail(403, f"Only the {site.name}'s own page may send this.", close=True)
        name = self._name()
        if name is None or not name.startswith("api/"):
            return self._fail(404, "There is nothing here.", close=True)
        kind = self.headers.get_content_type()
        is_file = kind == "application/octet-stream" and site.max_upload > 0
        if not is_file and kind != "application/json":
            return self._fail(415, "Send JSON.", close=True)
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,9}", length) or "Transfer-Encoding" in self.headers:
            return self._fail(411, "Say how long the request is.", close=True)
        limit = site.max_upload if is_file else site.max_body
        if int(length) > limit:
            return self._fail(
                413, f"A {'file' if is_file else 'request'} has at most {limit} bytes.", close=True
            )
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return self._fail(400, "The request ended before its end: send it again.", close=True)
        return self._answer(name.removeprefix("api/"), body, is_file=is_file)

    def _answer(self, what: str, body: bytes, *, is_file: bool) -> None:
        session: Any = self.server.site.session
        try:
            answer = session.receive(what, body) if is_file else session.answer(what, _object(body))
        except (Refused, PhysPlanError, GraphError) as error:
            return self._fail(400, str(error))
        except Exception as error:  # a fault of ours: the page says so, and the next request is answered
            print(f"physplan: a request failed ({error!r}).", file=sys.stderr)
            return self._fail(500, "Something went wrong in the server; its terminal says what.")
        return self._send(200, json.dumps(answer).encode(), "application/json")

    def _name(self) -> str | None:
        """The path below the link's key; None where the key is wrong."""
        path = re.split("[?#]", self.path, maxsplit=1)[0]
        key = self.server.site.key
        if not key:
            return path.removeprefix("/")
        given, slash, name = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(given.encode(errors="replace"), key.encode())
        return name if right and slash else None

    def _known_host(self) -> bool:
        """Without a key only names of this machine: any other that leads here is DNS rebinding."""
        if self.server.site.key:
            return True
        return is_loopback(_split(f"//{self.headers.get('Host', '')}").hostname or "")

    def _same_origin(self) -> bool:
        origin = self.headers.get("Origin")
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return False
        return origin is None or _split(origin).netloc == self.headers.get("Host", "")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library would answer with a page of its own."""
        self._fail(code, "This request cannot be answered.", close=True)

    def _fail(self, status: int, words: str, *, close: bool = False) -> None:
        self.close_connection = self.close_connection or close
        self._send(status, json.dumps({"error": words}).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self._begin(status, kind, len(content), {"Cache-Control": "no-store"})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _begin(self, status: int, kind: str, length: int, more: Mapping[str, str]) -> None:
        self.send_response(status)
        closing = {"Connection": "close"} if self.close_connection else {}
        described = {"Content-Type": kind, "Content-Length": str(length)}
        for name, value in {**HEADERS, **described, **more, **closing}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_file(self, path: Path) -> None:
        """Whole or a part: browsers ask for parts of a video, and some play no other."""
        try:  # a link that was put there since is not followed, and a pipe not waited for
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(path, flags)
        except OSError:
            return self._fail(404, "There is nothing here.")
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return self._fail(404, "There is nothing here.")
            return self._send_open(file, path.suffix)

    def _send_open(self, file: BinaryIO, suffix: str) -> None:
        size = file.seek(0, 2)
        start, end = _range(self.headers.get("Range", ""), size)
        kind = TYPES[suffix]
        if start >= size > 0:
            self._begin(416, kind, 0, {"Content-Range": f"bytes */{size}"})
            return
        part = {"Content-Range": f"bytes {start}-{end - 1}/{size}"} if end - start < size else {}
        more = {"Accept-Ranges": "bytes", "Cache-Control": "private, max-age=3600", **part}
        if suffix == ".html":
            more["Content-Security-Policy"] = FOREIGN_POLICY
        self._begin(206 if part else 200, kind, end - start, more)
        file.seek(start)
        left = 0 if self.command == "HEAD" else end - start
        while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
            self.wfile.write(chunk)
            left -= len(chunk)


PageServer.handler = Handler


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Refused("This is no JSON.") from None
    if not isinstance(given, dict):
        raise Refused("A request is a JSON object.")
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("A text holds a character that is none (a lone surrogate): remove it.") from None
    return given


def _no_number(word: str) -> float:
    raise Refused(f"{word} is no number: give one that is finite.")


def _finite(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text[:40])


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # such as an open bracket
        return urlsplit("")


def _range(header: str, size: int) -> tuple[int, int]:
    """First byte and one past the last; everything where nothing sensible is asked for."""
    found = re.fullmatch(r"bytes=([0-9]{0,15})-([0-9]{0,15})", header.strip())
    if not found or not (found[1] or found[2]):
        return 0, size
    if not found[1]:
        return max(size - int(found[2]), 0), size
    end = min(int(found[2]) + 1, size) if found[2] else size
    return (int(found[1]), end) if int(found[1]) < end or int(found[1]) >= size else (0, size)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int, site: Site) -> PageServer:
    if not site.key and not is_loopback(host):
        raise PhysPlanError(f"The {site.name} has no key for its link: give --host 127.0.0.1.")
    try:
        return PageServer((host, port), site)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PhysPlanError(f"{host}:{port} cannot be listened to ({reason}): give another --port.") from None


def link(server: PageServer, host: str) -> str:
    """What people open. A server that listens everywhere is named by this machine's name."""
    everywhere = host in ("0.0.0.0", "::", "")
    name = socket.gethostname() if everywhere else f"[{host}]" if ":" in host else host
    path = f"{server.site.key}/" if server.site.key else ""
    return f"http://{name}:{server.port}/{path}"
