"""No reply can freeze the process, fill its memory, or be stored when it was refused."""

from __future__ import annotations

import gzip
import json
import resource
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from physplan.calls.gateway import Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.protocol import CallFault, Request
from physplan.calls.secrets import Secret
from physplan.calls.store import AnswerStore
from physplan.graph import LimitError, Limits, ParseError, parse_json
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.http import LIMITS, ReplyRefused, _read
from physplan_models.clients.openai import OpenAIClient
from physplan_testing.loopback import Answer
from physplan_testing.sites import MODEL, QUICK, MakeSite

ASK = Request(purpose="test", model=MODEL, text="what is this?", system="be brief")
Send = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(send: Send) -> Iterator[str]:
    """A server that answers with whatever `send` writes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            try:
                send(self)
            except OSError:
                sent.append(-1)  # the client has hung up

        def log_message(self, *args: object) -> None: ...

    sent: list[int] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def refused(url: str, folder: Path, kind: type[GeminiClient] | type[OpenAIClient], match: str) -> None:
    gateway = Gateway(
        kind(Secret("k"), base_url=url), store=AnswerStore(folder), ledger=Ledger(), policy=QUICK
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CallFault, match=match):
        gateway.ask(ASK)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60_000, f"{grown} kB of memory"
    assert not list(folder.rglob("*.json")), "what is refused is no answer"
    [entry] = gateway.ledger.entries()
    assert entry.outcome == "unknown"
    assert entry.usd is not None
    assert entry.usd > 0, "but it was answered, and is paid for"


@pytest.fixture(params=[GeminiClient, OpenAIClient])
def kind(request: pytest.FixtureRequest) -> type[GeminiClient] | type[OpenAIClient]:
    client: type[GeminiClient] | type[OpenAIClient] = request.param
    client(Secret("k"), base_url="http://127.0.0.1:9").ready()  # the SDK's import is not the reply's memory
    return client


def test_a_body_without_end_is_cut_off(tmp_path: Path, kind: type[GeminiClient]) -> None:
    sent = 0

    def send(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while sent < 200_000_000:
            handler.wfile.write(b'"' + b"x" * 99_999)
            sent += 100_000

    with serving(send) as url:
        refused(url, tmp_path, kind, "longer than 4000000 bytes")
        time.sleep(0.1)
    assert sent < 50_000_000, "the rest was not fetched"


@pytest.mark.parametrize("status", [200, 500])
def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path, kind: type[GeminiClient], status: int) -> None:
    bomb = gzip.compress(b" " * 200_000_000)
    assert len(bomb) < 200_000

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(bomb)))
        handler.end_headers()
        handler.wfile.write(bomb)

    with serving(send) as url:
        refused(url, tmp_path, kind, "longer than 4000000 bytes")


def test_not_even_one_chunk_is_unpacked_beyond_the_limit() -> None:
    bomb = gzip.compress(b" " * 100_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(ReplyRefused, match="longer than"):
            _read([bomb], "gzip", LIMITS["text"])
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Encoding": "deflate"}, zlib.compress(b"{}")),
        ({"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(b"{}"))),
        ({"Content-Encoding": "gzip"}, b"this is no gzip"),
        ({}, b"[" * 100_000),
        ({}, b'{"a":[' + b"[0]," * 150_000 + b"0]}"),
        ({}, json.dumps({"usage": {str(n): 0 for n in range(150_000)}}).encode()),
    ],
    ids=["deflate", "twice", "no gzip", "deep", "many lists", "many keys"],
)
def test_odd_bodies_are_refused(
    tmp_path: Path, kind: type[GeminiClient], headers: dict[str, str], body: bytes
) -> None:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    started = time.perf_counter()
    with serving(send) as url:
        refused(url, tmp_path, kind, "it is not read")
    assert time.perf_counter() - started < 20


def test_a_charset_that_expands_what_it_decodes_is_not_used(tmp_path: Path, kind: type[GeminiClient]) -> None:
    body = zlib.compress(b" " * 100_000_000)

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain; charset=zlib_codec")
        handler.end_headers()
        handler.wfile.write(body)

    with serving(send) as url:
        gateway = Gateway(kind(Secret("k"), base_url=url), store=AnswerStore(tmp_path), policy=QUICK)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(CallFault):
            gateway.ask(ASK)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
    assert not list(tmp_path.rglob("*.json"))


def test_a_server_that_compresses_unasked_is_understood(make_site: MakeSite) -> None:
    site = make_site(lambda asked: Answer(raw=packed(), headers={"Content-Encoding": "gzip"}))

    def packed() -> bytes:
        return gzip.compress(json.dumps(site.server.encode(Answer(text="hello"))).encode())

    assert site.gateway().ask(ASK).reply.text == "hello"
    accepted = {name.lower(): value for name, value in site.server.asked[0].headers.items()}
    assert accepted["accept-encoding"] == "identity"


def test_one_key_twice_among_many_is_found_in_linear_time() -> None:
    def seconds(keys: int) -> float:
        text = json.dumps({f"k{n}": 0 for n in range(keys)})[:-1] + f', "k{keys - 1}": 1}}'
        started = time.process_time()
        with pytest.raises(ParseError, match=rf"k{keys - 1}.*twice"):
            parse_json(text, Limits.FILE)
        return time.process_time() - started

    seconds(1000)
    assert seconds(75_000) < 5, "minutes, when each name is counted among all"


def test_a_reply_of_very_many_entries_is_refused_before_it_is_read() -> None:
    with pytest.raises(LimitError, match="more than 20000 entries"):
        parse_json(json.dumps(list(range(30_000))))
    assert parse_json(json.dumps({"a": "[,{" * 30_000})) == {"a": "[,{" * 30_000}, "text is no entries"
