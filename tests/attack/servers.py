"""Hostile image and video servers, through our own clients: a sentence, and soon."""

from __future__ import annotations

import base64
import io
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from PIL import Image
from studio_double import plan
from tests.attack.campaign import KEY, SCRIPT, Arena, Probe
from tests.attack.pages import png
from tests.attack.pictures import _png, _rows
from tests.attack.replies import ODD, Elsewhere, _serve

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.prices import Price, PriceTable
from physplan.calls.protocol import CallFault, ImagePart, Request
from physplan.calls.secrets import Secret
from physplan.calls.settings import CallSettings
from physplan.calls.store import AnswerStore
from physplan.errors import PhysPlanError
from physplan.keyframes.protocol import EditRequest
from physplan_models.keyframes.image_server import ImageServerEditor
from physplan_models.servers.client import VideoServerClient
from physplan_models.servers.openrouter import DIALECT as OPENROUTER
from physplan_models.servers.registry import find_dialect
from physplan_models.servers.serving import _check
from physplan_testing.loopback import Answer, OpenAIServer

LIMIT = 1.5  # seconds of a video, where the server never ends
Send = Callable[[BaseHTTPRequestHandler, str], None]


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


def opened(stack: ExitStack, send: Send) -> str:
    """A server that answers GET and POST by `send`, with the verb."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.close_connection = True
            with suppress(OSError):  # the client has hung up
                send(self, self.command)

        do_GET = do_POST = do_DELETE = _answer

        def log_message(self, *args: object) -> None: ...

    return _serve(stack, Handler)


def say(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def drip(handler: BaseHTTPRequestHandler, end: float) -> None:
    """One byte now and then: never a pause that a limit per read would notice."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{")
    while time.monotonic() < end:
        handler.wfile.write(b" ")
        time.sleep(0.1)


def ask_for_a_video(probe: Probe, url: str, dialect: str = "sglang", *, limit: float = LIMIT) -> str:
    """One video through the gateway; what came of it, in words."""
    folder = probe.folder / "calls"
    client = VideoServerClient(
        find_dialect(dialect), url=url, key=Secret(KEY), jobs=folder / "jobs", limit=limit, check=_check
    )
    gateway = Gateway(
        client,
        store=AnswerStore(folder),
        ledger=Ledger(folder / "ledger.jsonl"),
        prices=PriceTable(dated="2026-01-01", models={"m": Price(input=0, output=0, second=0.1)}),
        policy=CallPolicy(timeout=limit + 1, attempts=2, first_wait=0.01, longest_wait=0.05),
    )
    options = {"parts": "first", "width": "64", "height": "48", "num_frames": "9", "fps": "8", "seconds": "4"}
    part = ImagePart(data=png(), media_type="image/png")
    asked = Request(purpose="video", model="m", text="x", images=(part,), output="video", options=options)
    began, said = time.monotonic(), "an answer"
    with probe.within(40):
        try:
            gateway.ask(asked)
        except PhysPlanError as error:
            said = str(error)
            raise
    took = time.monotonic() - began
    probe.expect(took < 40, f"hangs: {took:.0f} s for a video with a limit of {limit:g} s")
    probe.expect(len(said) < 2_000, f"{len(said)} characters of a video server's words")
    return said


def job(probe: Probe, states: list[Any], content: bytes, **headers: str) -> str:
    """A server that takes a job, says `states` one after the other, and sends `content`."""
    told = iter([*states, {"id": "a", "status": "completed"}])
    last: list[Any] = [None]

    def send(handler: BaseHTTPRequestHandler, verb: str) -> None:
        if verb == "POST":
            say(handler, b'{"id": "a"}')
        elif handler.path.endswith("content"):
            say(handler, content, **headers)
        else:
            last[0] = next(told, last[0])
            say(handler, json.dumps(last[0]).encode())

    with ExitStack() as stack:
        return ask_for_a_video(probe, opened(stack, send))


def odd_jobs(probe: Probe) -> None:
    """What a server says of a job: any value in any place."""
    chance = probe.chance
    value = {"id": "a", "status": "in_progress", "progress": 10, "error": {"message": "no"}, "code": 1}
    for _ in range(chance.randint(1, 3)):
        value[chance.choice(list(value))] = chance.choice([*ODD, KEY, f"{KEY} {SCRIPT} \x1b[2J", "9" * 5_000])
    job(probe, [chance.choice([value, value, value, [value], "x", None])], b"no video")


def odd_ids(probe: Probe) -> None:
    chance = probe.chance
    id = chance.choice([*ODD, "../../x", "a b", "a\r\nHost: evil", "//evil.example/x", "@evil", "x" * 10_000])

    def send(handler: BaseHTTPRequestHandler, verb: str) -> None:
        said = {"id": id, "name": id} if verb == "POST" else {"id": "a", "status": "failed", "done": True}
        say(handler, json.dumps(said).encode())

    with ExitStack() as stack:
        ask_for_a_video(probe, opened(stack, send), chance.choice(["sglang", "gemini", "openrouter"]))
    names = [path.name for path in probe.folder.iterdir() if path.name not in ("calls", "notes.txt")]
    probe.expect(not names, f"a job's name became a file: {names}")


def no_videos(probe: Probe) -> None:
    """What a server calls a video."""
    chance = probe.chance
    frames = [Image.new("RGB", (64, 48), (shade, 0, 0)) for shade in range(200)]
    gif = io.BytesIO()
    frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:])
    content = chance.choice(
        [
            b"",
            b"ffconcat version 1.0\nfile notes.txt\n",
            b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
            b"\0\0\0\x18ftypmp42" + chance.randbytes(5_000),
            b"\x1aE\xdf\xa3" + chance.randbytes(5_000),
            SCRIPT.encode(),
            gif.getvalue()[: chance.randrange(1, len(gif.getvalue()))],
            _png(100_000, 100_000),
        ]
    )
    said = job(probe, [], content, Content_Type=chance.choice(["video/mp4", "image/png", "text/html"]))
    probe.expect(said != "an answer" or content[:3] == b"GIF", "what is no video was taken for one")


def drips(probe: Probe) -> None:
    """Submission, status or download, a byte at a time."""
    where = probe.chance.choice(["POST", "GET", "content"])
    end = time.monotonic() + 60

    def send(handler: BaseHTTPRequestHandler, verb: str) -> None:
        at = "content" if handler.path.endswith("content") else verb
        if at == where:
            drip(handler, end)
        else:
            said = {"id": "a", "status": "completed" if where == "content" else "queued"}
            say(handler, json.dumps(said).encode())

    with ExitStack() as stack:
        began = time.monotonic()
        said = ask_for_a_video(probe, opened(stack, send))
        probe.expect(said != "an answer", "a drip was taken for a video")
        probe.expect(time.monotonic() - began < 30, f"hangs: a video server drips at {where}")
        end = 0.0


AFTER = (
    *("1e9", "1000000000", "9" * 400, "-1", "nan", "inf", "\xb2", "x", KEY),
    "Fri, 31 Dec 9999 23:59:59 GMT",
)


def waits(probe: Probe) -> None:
    """Retry-After of any kind: nobody waits longer than the limit of the video."""
    chance = probe.chance
    for busy, after in (("GET", "1000000000"), (chance.choice(["POST", "GET"]), chance.choice(AFTER))):

        def send(handler: BaseHTTPRequestHandler, verb: str, busy: str = busy, after: str = after) -> None:
            if verb == busy:
                say(handler, b"{}", chance.choice([429, 503]), Retry_After=after)
            else:
                say(handler, b'{"id": "a", "status": "queued"}')

        with ExitStack() as stack:
            began = time.monotonic()
            ask_for_a_video(probe, opened(stack, send))
            took = time.monotonic() - began
            probe.expect(took < 20, f"hangs: Retry-After: {after[:20]} was waited for")


def downloads_elsewhere(probe: Probe) -> None:
    """The address of a finished video, at another host than the one that has the key."""
    with ExitStack() as stack:
        elsewhere = Elsewhere(stack)
        host = elsewhere.url.removeprefix("http://")
        to = probe.chance.choice(
            [f"{elsewhere.url}/v.mp4", f"//{host}/v", f"@{host}/v", f".{host}", "file:///etc/passwd"]
        )
        redirected = probe.chance.random() < 0.5

        def send(handler: BaseHTTPRequestHandler, verb: str) -> None:
            video = {"generatedSamples": [{"video": {"uri": "/v" if redirected else to}}]}
            if verb == "POST":
                say(handler, b'{"name": "operations/a"}')
            elif handler.path.endswith("/v"):
                say(handler, b"", 302, Location=to)
            else:
                done = {"name": "a", "done": True, "response": {"generateVideoResponse": video}}
                say(handler, json.dumps(done).encode())

        ask_for_a_video(probe, opened(stack, send), "gemini")
        probe.expect(elsewhere.heard == 0, f"a download was followed to {to}, with the key")


RESOLUTIONS = (["\xb2p"], ["9" * 9 + "p"], ["9" * 5_000 + "p"], ["0p"])


def odd_lists(probe: Probe) -> None:
    """What OpenRouter says that its models can."""
    chance = probe.chance
    entry: Any = {
        "id": "m",
        "supported_resolutions": ["720p"],
        "supported_aspect_ratios": ["16:9"],
        "supported_durations": [2, 5],
        "supported_frame_images": ["first_frame"],
        "pricing_skus": {"per-video-second": "0.04"},
    }
    look_at_a_list(
        probe, {"data": [{**entry, "pricing_skus": {"second": chance.choice(["nan", "inf", "-1"])}}]}
    )
    for _ in range(chance.randint(1, 3)):
        odd = chance.choice([*ODD, *RESOLUTIONS, [math.nan], {"second": "nan"}])
        entry[chance.choice(list(entry))] = odd
    look_at_a_list(probe, chance.choice([{"data": [entry]}, {"data": [entry, odd]}, {"data": odd}, odd]))


def look_at_a_list(probe: Probe, listed: Any) -> None:
    with probe.within(10):
        found = OPENROUTER.abilities("m", listed)
        for width, height in found.sizes or ():
            probe.expect(max(width, height) <= 16_384, f"a server may ask for {width} x {height} pixels")
        probe.expect(all(0 < s <= 86_400 for s in found.durations or ()), f"durations {found.durations}")
        usd = found.usd_per_second
        probe.expect(usd is None or (math.isfinite(usd) and usd >= 0), f"a second costs {usd} USD")


def drawings() -> Iterator[bytes]:
    """What an image server calls a drawing."""
    yield _png(100_000, 100_000, _rows(64, 48))
    yield _png(2**31 - 1, 2**31 - 1)
    frames = [Image.new("RGB", (64, 48), (shade, 0, 0)) for shade in range(200)]
    for kind in ("PNG", "WEBP", "GIF"):
        encoded = io.BytesIO()
        frames[0].save(encoded, kind, save_all=True, append_images=frames[1:])
        yield encoded.getvalue()
    for kind, mode in (("JPEG", "CMYK"), ("PNG", "LA"), ("PNG", "P"), ("TIFF", "F"), ("EPS", "RGB")):
        encoded = io.BytesIO()
        Image.new(mode, (64, 48)).save(encoded, kind)
        yield encoded.getvalue()
    yield f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>".encode()
    yield b"%!PS-Adobe-3.0 EPSF-3.0\n(notes.txt) (r) file\nshowpage\n"
    yield png() + SCRIPT.encode()
    yield png()[:40]
    yield b""


def odd_drawings(probe: Probe) -> None:
    drawing = probe.chance.choice(list(drawings()))
    several = probe.chance.choice([1, 1, 3, 65])
    answer = Answer(text=SCRIPT, images=(drawing,) * several)
    if probe.chance.random() < 0.2:
        body = {"data": probe.chance.choice([*ODD, [{"b64_json": "!!"}], [{"url": "http://evil.example/x"}]])}
        answer = Answer(raw=json.dumps(body).encode())
    elif probe.chance.random() < 0.5:
        content = base64.b64encode(drawing).decode()
        answer = Answer(raw=json.dumps({"data": [{"b64_json": content}] * several}).encode())
    with OpenAIServer(lambda asked: answer, key=KEY) as server:
        policy = CallPolicy(timeout=20, attempts=1)
        settings = CallSettings(folder=probe.folder / "calls", base_url=server.url, policy=policy)
        frame = Image.new("RGB", (64, 48))
        request = EditRequest(image=frame, instruction="Make it wet.", event=0, chain=plan(), first=None)
        with probe.within(20, megabytes=500):
            try:
                drawn = ImageServerEditor.connect(settings).edit(request)
                probe.expect(drawn.size == (64, 48), f"a drawing of {drawn.size}")
                probe.expect(drawn.mode == "RGB", f"a drawing with mode {drawn.mode}")
            except CallFault as fault:
                probe.hear(str(fault))


ATTACKS: tuple[Callable[[Probe], None], ...] = (
    *(odd_jobs, odd_ids, no_videos, drips, waits, downloads_elsewhere, odd_lists, odd_drawings, odd_drawings),
)
