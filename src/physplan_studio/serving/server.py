"""`/v1/videos` over HTTP, with the standard library; errors in OpenAI's form."""

from __future__ import annotations

import hmac
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError
from physplan.pictures import MAX_BYTES
from physplan_studio.serving.forms import read_fields
from physplan_studio.serving.videos import PARTS, TooMany, Videos
from physplan_studio.web.server import Handler, PageServer, Refused, Site, is_loopback

MAX_BODY = MAX_BYTES + 4_000_000
ROUTE = re.compile(r"/v1/videos/([a-z0-9-]{1,80})(?:/([a-z]+(?:/[1-9][0-9]{0,2})?))?")
Answer = dict[str, Any] | Path


class VideosHandler(Handler):
    server: VideosServer

    def do_GET(self) -> None:
        self._reply(self._found)

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        self._reply(self._deleted)

    def do_POST(self) -> None:
        self._reply(self._created)

    def _found(self) -> Answer:
        videos, path = self.server.videos, self._path()
        if path == "/v1/videos":
            return videos.list()
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": "physplan", "object": "model"}]}
        id, part = self._named(path)
        if not part:
            return videos.retrieve(id)
        if part == "keyframes":
            return videos.keyframes(id)
        if part in PARTS or part.startswith("keyframes/"):
            return videos.part(id, part)
        raise LookupError(path)

    def _deleted(self) -> Answer:
        id, part = self._named(self._path())
        if part:
            raise LookupError(part)
        return self.server.videos.delete(id)

    def _created(self) -> Answer:
        if self._path() != "/v1/videos":
            raise LookupError(self._path())
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,9}", length) or "Transfer-Encoding" in self.headers:
            raise Refused("Say how long the request is.")
        if int(length) > MAX_BODY:
            raise Refused(f"A request has at most {MAX_BODY} bytes.")
        body = self.rfile.read(int(length))
        key = self.headers.get("Idempotency-Key", "")[:200]
        return self.server.videos.create(read_fields(body, self.headers.get("Content-Type", "")), key=key)

    def _path(self) -> str:
        return re.split("[?#]", self.path, maxsplit=1)[0].rstrip("/")

    def _named(self, path: str) -> tuple[str, str]:
        found = ROUTE.fullmatch(path)
        if found is None:
            raise LookupError(path)
        return found[1], found[2] or ""

    def _allowed(self) -> bool:
        """The token; without one, programs of this machine alone, and no page of a browser."""
        token = self.server.token
        if token:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return hmac.compare_digest(given.encode(errors="replace"), token.encode())
        return self._known_host() and "Origin" not in self.headers

    def _reply(self, act: Callable[[], Answer]) -> None:
        if not self._allowed():
            return self._fail(401, "Send the server's token: Authorization: Bearer TOKEN.", close=True)
        try:
            answer = act()
        except LookupError:
            return self._fail(404, "There is no such video.", close=self.command == "POST")
        except TooMany as error:
            return self._fail(429, str(error), close=True)
        except (Refused, PhysPlanError, GraphError) as error:
            return self._fail(400, str(error), close=self.command == "POST")
        except Exception as error:
            print(f"physplan: a request failed ({error!r}).", file=sys.stderr)
            return self._fail(500, "Something went wrong in the server; its terminal says what.", close=True)
        if isinstance(answer, Path):
            return self._send_file(answer)
        return self._send(200, json.dumps(answer).encode(), "application/json")

    def _fail(self, status: int, words: str, *, close: bool = False) -> None:
        self.close_connection = self.close_connection or close
        kind = "invalid_request_error" if status < 500 else "server_error"
        body = {"error": {"message": words, "type": kind, "param": None, "code": None}}
        self._send(status, json.dumps(body).encode(), "application/json")


class VideosServer(PageServer):
    handler = VideosHandler

    def __init__(self, address: tuple[str, int], videos: Videos, token: str) -> None:
        if not token and not is_loopback(address[0]):
            raise PhysPlanError("Others could reach this server: give --token, or --host 127.0.0.1.")
        self.videos, self.token = videos, token
        site = Site(name="server", session=videos.session, key="", page={}, media=lambda name: None)
        try:
            super().__init__(address, site)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise PhysPlanError(
                f"{address[0]}:{address[1]} cannot be listened to ({reason}): give another --port."
            ) from None
