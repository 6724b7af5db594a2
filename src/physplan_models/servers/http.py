"""HTTP to a video server: bounded replies, no key to another host, faults as sentences."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from physplan.calls.protocol import IMAGE_TYPES, CallFault, ImagePart
from physplan.calls.secrets import Secret
from physplan_models.clients.faults import retryable, sentence, wait_of
from physplan_models.servers.protocol import HttpRequest

MOST_JSON = 4_000_000
MOST_VIDEO = 90_000_000  # bytes; the answer store takes 100 MB
MAX_REDIRECTS = 3  # within the same host, of a download


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """`url` is the server's address, such as http://localhost:8091/v1."""

    def __init__(self, url: str, headers: Mapping[str, str], key: Secret | None) -> None:
        self.url, self._headers, self._key = url.rstrip("/"), dict(headers), key

    def post(self, asked: HttpRequest, *, timeout: float) -> dict[str, Any]:
        if asked.json is not None:
            body, kind = json.dumps(asked.json).encode(), "application/json"
        else:
            body, kind = encode_form(asked.texts, asked.files)
        answer = self._checked(
            self._send("POST", self.url + asked.path, timeout, body, {"Content-Type": kind})
        )
        return self._object(answer)

    def get(self, path: str, *, timeout: float) -> dict[str, Any]:
        return self._object(self._checked(self._send("GET", self.url + path, timeout)))

    def delete(self, path: str, *, timeout: float) -> None:
        self._checked(self._send("DELETE", self.url + path, timeout))

    def download(self, path: str, *, timeout: float) -> bytes:
        """A redirect is followed within the same host alone: the key would go along."""
        url = path if path.startswith(("http://", "https://")) else self.url + path
        for _ in range(MAX_REDIRECTS + 1):
            self._require_own(url)
            answer = self._send("GET", url, timeout, limit=MOST_VIDEO)
            if not 300 <= answer.status < 400:
                return self._checked(answer).body
            url = urljoin(url, answer.headers.get("location", ""))
        raise CallFault("The server redirects the download again and again.", billable=True)

    def _require_own(self, url: str) -> None:
        own, other = urlsplit(self.url), urlsplit(url)
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            words = sentence(other.netloc or "nowhere", self._key)
            raise CallFault(
                f"The video server sends the download to {words} Other hosts are not followed: the key would"
                " go along.",
                billable=True,
            )

    def _send(
        self,
        verb: str,
        url: str,
        timeout: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MOST_JSON,
    ) -> Answer:
        parts = urlsplit(url)
        if parts.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.netloc, timeout=timeout, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.connect()
            with _cut_after(timeout, connection.sock):
                connection.request(verb, target, body, {**self._headers, **(headers or {})})
                response = connection.getresponse()
                content = response.read(limit + 1)
            found = {name.lower(): value for name, value in response.getheaders()}
        except (OSError, http.client.HTTPException) as error:
            raise CallFault(
                f"The video server at {parts.netloc} cannot be reached ({type(error).__name__}); check the "
                "network and the address.",
                retryable=True,
                billable=verb == "POST" and not isinstance(error, ConnectionRefusedError),
            ) from None
        finally:
            connection.close()
        if len(content) > limit:
            raise CallFault(f"The video server's reply is longer than {limit} bytes.", billable=True)
        return Answer(status=response.status, headers=found, body=content)

    def _checked(self, answer: Answer) -> Answer:
        if answer.status < 300:
            return answer
        if answer.status < 400:
            to = sentence(answer.headers.get("location", "nowhere"), self._key)
            message = (
                f"The video server redirects to {to} Redirects are not followed: the key would go along."
            )
        else:
            said = sentence(_words(answer.body), self._key)
            message = f"The video server answered {answer.status}: {said}"
        raise CallFault(
            message,
            status=answer.status,
            retryable=retryable(answer.status),
            retry_after=wait_of(answer.headers.get("retry-after", "")),
        )

    def _object(self, answer: Answer) -> dict[str, Any]:
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise CallFault("The video server's reply is no JSON object: check video.dialect.", billable=True)
        return found


@contextmanager
def _cut_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """The whole exchange within so many seconds: a socket's own limit is per read, and a drip never ends."""
    late = threading.Event()

    def cut() -> None:
        late.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            raise TimeoutError


def encode_form(texts: Mapping[str, str], files: tuple[tuple[str, ImagePart], ...]) -> tuple[bytes, str]:
    """A multipart body and its content type."""
    boundary = uuid.uuid4().hex
    out = bytearray()
    for name, value in texts.items():
        out += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for number, (name, part) in enumerate(files):
        ending = {**IMAGE_TYPES, "video/mp4": "mp4"}.get(part.media_type, "bin")
        head = f'form-data; name="{name}"; filename="part{number}.{ending}"'
        out += (
            f"--{boundary}\r\nContent-Disposition: {head}\r\nContent-Type: {part.media_type}\r\n\r\n".encode()
        )
        out += part.data + b"\r\n"
    out += f"--{boundary}--\r\n".encode()
    return bytes(out), f"multipart/form-data; boundary={boundary}"


def _words(body: bytes) -> str:
    try:
        found = json.loads(body)
        error = found.get("error", found.get("detail", found))
        return str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RecursionError):
        return body[:300].decode("utf-8", "replace") or "nothing"
