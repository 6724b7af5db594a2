"""What both SDKs send their requests through: no redirects, and replies bounded while they stream in."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from physplan.calls.protocol import CallFault, Request
from physplan.graph.errors import LimitError
from physplan.graph.json_values import Limits, require_shape

LIMITS = {
    "text": Limits(max_bytes=4_000_000, max_depth=64, max_entries=100_000),
    "image": Limits(max_bytes=64_000_000, max_depth=64, max_entries=100_000),
}
# Of a reply's headers, the SDKs are shown these: a charset could be one that expands what it decodes.
KEPT = ("retry-after", "location", "date", "x-request-id")


class ReplyRefused(CallFault):
    """A reply beyond the limits. It was answered, so it is paid for; it is not read, and not stored."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The server's reply {problem}: it is not read.", billable=True)


@dataclass
class Exchange:
    """One question: how long its reply may be, and the reply's body as it came."""

    limits: Limits
    body: bytes = b""


_EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


@contextmanager
def exchange(request: Request) -> Iterator[Exchange]:
    """Around every call of an SDK: its replies have the limits of this request."""
    current = Exchange(LIMITS[request.output])
    token = _EXCHANGE.set(current)
    try:
        yield current
    finally:
        _EXCHANGE.reset(token)


def stated(body: bytes, field: str) -> Any:
    """A field of a reply as the server wrote it: the SDKs would take `true`, 1.0 and "1" for 1."""
    try:
        reply = json.loads(body)
    except ValueError:
        return None
    return reply.get(field) if isinstance(reply, dict) else None


def bounded(base: type[Any]) -> type[Any]:
    """`base` (httpx.Client, or an SDK's own) whose replies are read here, within the limits."""

    class BoundedClient(base):  # type: ignore[misc]
        def send(self, request: Any, **options: Any) -> Any:
            request.headers["accept-encoding"] = "identity"
            current = _EXCHANGE.get(None) or Exchange(LIMITS["text"])
            response = super().send(request, **options | {"stream": True, "follow_redirects": False})
            try:
                encoding = response.headers.get("content-encoding", "identity")
                current.body = _read(response.iter_raw(), encoding, current.limits)
            finally:
                response.close()
            headers = {name: response.headers[name] for name in KEPT if name in response.headers}
            headers["content-type"] = "application/json"
            rest = {"headers": headers, "content": current.body, "request": request}
            return type(response)(response.status_code, **rest)

    return BoundedClient


def _read(chunks: Iterable[bytes], encoding: str, limits: Limits) -> bytes:
    """The decoded body. Asked for none, a server may still compress: gzip is undone as far as the limit."""
    if encoding.strip().lower() not in ("", "identity", "gzip"):
        raise ReplyRefused("is compressed in a way that was not asked for")
    unzip = zlib.decompressobj(wbits=31) if encoding.strip().lower() == "gzip" else None
    content = bytearray()
    try:
        for chunk in chunks:
            content += unzip.decompress(chunk, limits.max_bytes + 1 - len(content)) if unzip else chunk
            if len(content) > limits.max_bytes or (unzip and unzip.unconsumed_tail):
                raise ReplyRefused(f"is longer than {limits.max_bytes} bytes")
    except zlib.error:
        raise ReplyRefused("is not the gzip that it says it is") from None
    try:
        require_shape(content.decode("utf-8", "replace"), limits)
    except LimitError as error:
        raise ReplyRefused(error.problem.partition(":")[0]) from None
    return bytes(content)
