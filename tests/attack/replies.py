"""Hostile replies of real servers, through the real SDKs: a sentence or an answer, and paid for."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

from tests.attack.campaign import KEY, SCRIPT, Arena, Probe

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import Client, Request
from physplan.calls.secrets import Secret
from physplan.calls.store import AnswerStore
from physplan.graph.parsing import parse_deltas, parse_edits, parse_graph
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.openai import OpenAIClient
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer, Loopback, OpenAIServer

MODEL = "gemini-3-flash-preview"
ASK = Request(purpose="attack", model=MODEL, text="what is this?", system="be brief")
POLICY = CallPolicy(timeout=30, attempts=1)
USAGE = {
    "gemini": ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"),
    "openai": ("prompt_tokens", "completion_tokens", "total_tokens"),
}
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        7,
        -(10**9),
        10**400,
        0.5,
        math.nan,
        math.inf,
        -math.inf,
        2**63,
        "7",
        "",
        "x" * 1000,
    ),
    *([], [1], {}, {"a": 1}, [[[]]], "\x1b[2J\u202e", "\ud800", SCRIPT),
)
MOST_TOKENS = 10_000_000
Send = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Sites:
    """A server of each kind, one that sends raw bytes, and one that nothing may reach."""

    answer: Answer | None
    send: Send
    servers: dict[str, Loopback]
    clients: dict[str, Client]
    raw: dict[str, Client]
    elsewhere: Elsewhere


class Elsewhere:
    """Listens where redirects lead, and counts whoever comes."""

    def __init__(self, stack: ExitStack) -> None:
        outer, self.heard = self, 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.heard += 1
                self.send_error(404)

            do_GET = do_PUT = do_POST

            def log_message(self, *args: object) -> None: ...

        self.url = _serve(stack, Handler)


def _serve(stack: ExitStack, handler: type[BaseHTTPRequestHandler]) -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def open_sites(stack: ExitStack) -> Sites:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.close_connection = True
            with suppress(OSError):  # the client has hung up
                sites.send(self)

        def log_message(self, *args: object) -> None: ...

    gemini = stack.enter_context(GeminiServer(lambda asked: sites.answer, key=KEY))
    openai = stack.enter_context(OpenAIServer(lambda asked: sites.answer, key=KEY))
    raw = _serve(stack, Handler)
    sites = Sites(
        answer=None,
        send=lambda handler: None,
        servers={"gemini": gemini, "openai": openai},
        clients={
            "gemini": GeminiClient(Secret(KEY), base_url=gemini.url),
            "openai": OpenAIClient(Secret(KEY), base_url=openai.url),
        },
        raw={
            "gemini": GeminiClient(Secret(KEY), base_url=raw),
            "openai": OpenAIClient(Secret(KEY), base_url=raw),
        },
        elsewhere=Elsewhere(stack),
    )
    for client in (*sites.clients.values(), *sites.raw.values()):
        client.ready()
    return sites


def attack(arena: Arena) -> None:
    with ExitStack() as stack:
        sites = open_sites(stack)
        for probe in arena.probes():
            ATTACKS[probe.number % len(ATTACKS)](probe, sites)
            probe.tried()


def ask(probe: Probe, client: Client, *, seconds: float = 20) -> tuple[float, str]:
    """What the ledger has for one question, and the text of the answer. Looks at what was stored of it."""
    folder = probe.folder / "calls"
    ledger = Ledger(folder / "ledger.jsonl")
    gateway = Gateway(client, store=AnswerStore(folder), ledger=ledger, policy=POLICY)
    text = ""
    with probe.within(seconds):
        reply = gateway.ask(ASK).reply
        text = reply.text
        probe.hear(reply.text + reply.model)
    with probe.within(seconds):
        gateway.ask(ASK) if list(
            folder.glob("answers/*.json")
        ) else None  # a stored reply must not hang either
    usd = 0.0
    with probe.within(seconds):
        usd = ledger.totals().usd
    probe.expect(math.isfinite(usd) and usd >= 0, f"the ledger has {usd} USD")
    return usd, text


def worst() -> float:
    price = PriceTable.load().find(MODEL)
    assert price is not None
    return price.worst_case(ASK)


def charged(provider: str, usage: Any, text: str) -> float:
    """The price of a usage that can be true; the worst case of any other. Not the code under attack."""
    price = PriceTable.load().find(MODEL)
    assert price is not None
    if not isinstance(usage, dict):
        return worst()
    taken, given, *more = (usage.get(name) for name in USAGE[provider])
    total = more.pop()
    counts = [taken, given if provider == "openai" else given or 0, *(n or 0 for n in more)]
    counts += [] if total is None else [total]
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MOST_TOKENS for n in counts):
        return worst()
    output = max(sum(counts[1 : 2 + len(more)]), (total or 0) - taken)
    if taken == 0 or (text and output == 0) or (total is not None and total < taken + counts[1]):
        return worst()
    return (taken * price.input + output * price.output) / 1e6


def odd_value(chance: Random) -> Any:
    return chance.choice(ODD) if chance.random() < 0.9 else chance.randrange(1, 20_000)


def hostile_usage(probe: Probe, sites: Sites) -> None:
    chance = probe.chance
    provider = chance.choice(list(USAGE))
    usage: Any = {name: odd_value(chance) for name in USAGE[provider] if chance.random() < 0.8}
    if chance.random() < 0.4:  # one lie in what can otherwise be true
        usage = {**dict.fromkeys(USAGE[provider], 1000), chance.choice(USAGE[provider]): odd_value(chance)}
    usage = odd_value(chance) if chance.random() < 0.15 else usage
    text = chance.choice(["yes", "yes", ""])
    body = sites.servers[provider].encode(Answer(text=text))
    body["usageMetadata" if provider == "gemini" else "usage"] = usage
    if provider == "gemini":
        body["candidates"][0]["finishReason"] = chance.choice(["STOP", "SAFETY", "MAX_TOKENS"])
    sites.answer = Answer(raw=json.dumps(body).encode())
    usd, _ = ask(probe, sites.clients[provider])
    truth = charged(provider, usage, text)
    entries = Ledger(probe.folder / "calls" / "ledger.jsonl").entries()
    if any(entry.outcome == "unknown" and entry.status is None for entry in entries):
        truth = min(truth, worst())  # the machine was too busy: the answer came after the call's end
    probe.expect(
        usd >= truth * (1 - 1e-6) - 1e-6, f"the ledger has {usd} of {truth} USD (usage {usage!r:.100})"
    )


def redirect(probe: Probe, sites: Sites) -> None:
    chance, before = probe.chance, sites.elsewhere.heard
    provider = chance.choice(list(USAGE))
    url = sites.elsewhere.url
    to = chance.choice(
        [
            *(url, f"{url}/v1/x", f"{url}/?key={KEY}", url.replace("127.0.0.1", "localhost"), f"//{url[7:]}"),
            *("/v1/again", "file:///etc", ""),
        ]
    )
    sites.answer = Answer(status=chance.choice([300, 301, 302, 303, 305, 307, 308]), headers={"Location": to})
    asked = len(sites.servers[provider].asked)
    ask(probe, sites.clients[provider])
    probe.expect(sites.elsewhere.heard == before, f"a redirect to {to} was followed, with the key")
    again = len(sites.servers[provider].asked) - asked
    probe.expect(again == 1, f"{again} requests for one question: a redirect was followed")


def key_echo(probe: Probe, sites: Sites) -> None:
    """The key in any field, letter case and quoting."""
    chance = probe.chance
    provider = chance.choice(list(USAGE))
    form = chance.choice(
        [
            KEY,
            KEY.upper(),
            KEY.title(),
            KEY.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
            f"x{KEY}y",
        ]
    )
    body = sites.servers[provider].encode(Answer(text="yes"))
    places = list(_places(body))
    at = chance.choice([place for place in places if place])
    text = json.dumps(_replaced(body, at, form))
    if chance.random() < 0.3:
        text = text.replace(json.dumps(form), escaped(form))
    sites.answer = chance.choice(
        [
            Answer(raw=text.encode()),
            Answer(raw=text.encode()),
            Answer(text=f"the key is {form}."),
            Answer(status=chance.choice([400, 401, 403, 404, 429, 500, 503]), message=f"bad key {form}"),
            Answer(status=400, raw=form.encode()),
            Answer(status=429, headers={"Retry-After": form}),
            Answer(status=302, headers={"Location": f"http://127.0.0.1:9/{form}"}),
        ]
    )
    ask(probe, sites.clients[provider])


def escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(c):04x}" for c in text) + '"'


def odd_body(probe: Probe, sites: Sites) -> None:
    """Sizes, encodings and shapes that a body can have."""
    chance = probe.chance
    provider = chance.choice(list(USAGE))
    good = json.dumps(sites.servers[provider].encode(Answer(text="yes"))).encode()
    name = chance.choice(list(BODIES))
    headers, body = BODIES[name](chance, good)
    status = chance.choice([200, 200, 200, 500, 299])

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for field, value in headers.items():
            handler.send_header(field, value)
        handler.end_headers()
        if body is None:
            for _ in range(2_000):  # 200 MB, if they are taken
                handler.wfile.write(b'"' + b"x" * 99_999)
        else:
            handler.wfile.write(body)

    sites.send = send
    usd, _ = ask(probe, sites.raw[provider])
    kept = sum(path.stat().st_size for path in (probe.folder / "calls").rglob("*.json"))
    probe.expect(kept < 5_000_000, f"{kept} bytes of the body {name!r} were stored")
    if status < 300:
        probe.expect(usd > 0 or name == "cut", f"the body {name!r} was answered for nothing")


def _many(chance: Random) -> bytes:
    return json.dumps({f"k{n}": 0 for n in range(chance.choice([110_000, 150_000]))}).encode()


BODIES: dict[str, Callable[[Random, bytes], tuple[dict[str, str], bytes | None]]] = {
    "endless": lambda chance, good: ({}, None),
    "bomb": lambda chance, good: ({"Content-Encoding": "gzip"}, gzip.compress(b" " * 200_000_000, 6)),
    "zipped twice": lambda chance, good: (
        {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(good))),
    "no gzip": lambda chance, good: ({"Content-Encoding": "gzip"}, b"this is no gzip"),
    "deflate": lambda chance, good: ({"Content-Encoding": "deflate"}, zlib.compress(good)),
    "brotli": lambda chance, good: ({"Content-Encoding": "br"}, good),
    "charset": lambda chance, good: (
        {"Content-Type": "text/plain; charset=zlib_codec"}, zlib.compress(b" " * 100_000_000)),
    "deep": lambda chance, good: ({}, chance.choice([b"[", b'{"a":', b'[{"a":']) * 100_000),
    "many": lambda chance, good: ({}, _many(chance)),
    "lists": lambda chance, good: ({}, b'{"a":[' + b"[0]," * 150_000 + b"0]}"),
    "cut": lambda chance, good: ({"Content-Length": str(len(good))}, good[: chance.randrange(len(good))]),
    "short": lambda chance, good: ({"Content-Length": str(chance.randrange(len(good)))}, good),
    "chunked": lambda chance, good: (
        {"Transfer-Encoding": "chunked"}, chance.choice([b"zz\r\n", b"5\r\nab", b"0\r\n"])),
    "not UTF-8": lambda chance, good: ({}, good.replace(b"yes", bytes(chance.choices(range(128, 256), k=9)))),
    "zeros": lambda chance, good: ({}, good + b"\0" * 1000),
    "twice": lambda chance, good: ({}, good[:-1] + b"," + good[1:]),
    "NaN": lambda chance, good: ({}, good.replace(b"200", b"NaN").replace(b"1000", b"1e999")),
    "digits": lambda chance, good: ({}, good.replace(b"1000", b"9" * chance.choice([5_000, 1_000_000]))),
    "nothing": lambda chance, good: ({"Content-Length": "0"}, b""),
    "page": lambda chance, good: ({"Content-Type": "text/html"}, f"<html>{SCRIPT}</html>".encode()),
    "stream": lambda chance, good: ({"Content-Type": "text/event-stream"}, b"data: " + good + b"\n\n"),
}  # fmt: skip


def odd_part(probe: Probe, sites: Sites) -> None:
    """A real answer with one part replaced by something else."""
    chance = probe.chance
    provider = chance.choice(list(USAGE))
    finish = chance.choice(["stop", "length", "refused"])
    body = sites.servers[provider].encode(Answer(text="yes", images=(b"png",), finish=finish))
    at = chance.choice(list(_places(body)))
    raw = json.dumps(_replaced(body, at, odd_value(chance))).encode()
    sites.answer = Answer(raw=raw, status=chance.choice([200, 200, 200, 201, 204, 400, 404, 451, 599]))
    usd, _ = ask(probe, sites.clients[provider])
    probe.expect(usd > 0 or sites.answer.status >= 300, "answered for nothing")


def one_key_twice(keys: int) -> str:
    return json.dumps({f"k{n}": 0 for n in range(keys)})[:-1] + f', "k{keys - 1}": 1}}'


def odd_text(probe: Probe, sites: Sites) -> None:
    """What a planner reads: JSON in the text of an answer."""
    chance = probe.chance
    provider = chance.choice(list(USAGE))
    good = json.dumps(melting.GRAPH)
    text = chance.choice(
        [
            *[one_key_twice(75_000)] * 4,
            '{"nodes":' * 5_000,
            json.dumps({"nodes": [{"id": "a#1", "category": "x" * 900_000, "attributes": {}}], "edges": []}),
            good.replace('"ice cube"', json.dumps(odd_value(chance))),
            good.replace("dry", SCRIPT),
            good.replace('"solid"', "1e999"),
            good[: chance.randrange(len(good))],
            f"```json\n{good}\n```" * 3,
            '"' + "\\" * 200_000,
            "9" * 300_000,
            good + " " * 900_000,
        ]
    )
    sites.answer = Answer(text=text)
    _, answered = ask(probe, sites.clients[provider])
    for read in (parse_graph, parse_deltas, parse_edits):
        with probe.within(10):
            read(answered)


def whole_plan(probe: Probe, sites: Sites) -> None:
    """`physplan plan` against a server that knows the scene, but for one act."""
    chance = probe.chance
    act = chance.choice(["nodes", "deltas", "edits", "instruction"])
    said = chance.choice(
        [
            one_key_twice(75_000),
            json.dumps({act: odd_value(chance)}),
            json.dumps({act: [odd_value(chance)]}),
            json.dumps({act: f"{SCRIPT} {KEY} \x1b[31m [/red] \u202e ../../notes.txt"}),
            json.dumps(melting.GRAPH).replace("ice cube", "[/x] \\u001b[2J cube"),
            "[" * 50_000,
            "",
        ]
    )

    def respond(asked: Asked) -> Answer:
        good = melting.respond(asked)
        return replace(good, text=said) if asked.act == act else good

    probe.take("ice.png")
    kind, preset = chance.choice([(GeminiServer, "paper"), (OpenAIServer, "open")])
    with kind(respond, key=KEY) as server:
        argv = [
            "plan",
            "--image",
            "ice.png",
            "--prompt",
            melting.PROMPT,
            "--preset",
            preset,
            "-o",
            "plan.json",
        ]
        argv += ["--set", f"reasoner.base_url={server.url}", "--set", "runtime.attempts=1", "--verbose"]
        first = probe.command(*argv)
        again = probe.command(*argv)
    probe.expect({first.code, again.code} <= {0, 1, 2}, f"exit codes {first.code}, {again.code}")
    if Path(probe.folder / "plan.json").exists():
        probe.command("show", "plan.json", "-o", "plan.html")


ATTACKS = (
    *(hostile_usage, redirect, key_echo, odd_body, odd_part, odd_text),
    *(hostile_usage, odd_part, key_echo, odd_body, hostile_usage, redirect),
    whole_plan,
)


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, child in inner for place in _places(child, (*at, key)))]


def _replaced(value: Any, at: tuple[Any, ...], by: Any) -> Any:
    if not at:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = _replaced(value[at[0]], at[1:], by)
    return copy
