"""A studio without models: runs are written as the pipeline would, at once or when the test says so."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import numpy as np
import yaml
from PIL import Image

from physplan.files import atomic_path, write_atomic, write_json
from physplan.graph import EventChain, PhysicalDelta, StateChange, StateGraph, Update
from physplan.runs import RunFolder, layout
from physplan_studio.process import Stopped
from physplan_studio.server import Studio

PROMPT = "the ball grows"
FORECAST: Mapping[str, Any] = {
    "work": [{"stage": "latents", "what": "2 steps", "done": False, "calls": 0, "usd": 0.0}],
    "calls": 0,
    "usd": 0.0,
    "events": 1,
    "known_events": True,
    "memory_gb": 1.5,
    "device": "cpu",
    "missing": [],
    "steps": 2,
    "model": "sandbox",
}

HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<svg onload=alert(1)>",
    "\"><script>document.title='owned'</script>",
    "javascript:alert(1)",
    "{{7*7}}${7*7}#{7*7}",
    "</textarea><script>document.title='owned'</script>",
    "&lt;script&gt;",
    "a\u202egnp.exe",
    "\u2066\u2067\u2068left\u2069",
    "\u200f\u200e\u061c",
    "\ufeff\u200b\u200d",
    "nul\x00l",
    "\x1b[31mred\x1b[0m",
    "line\nbreak\r\nand\ttab",
    "\ud800 alone",
    "e" + "\u0301" * 500,
    "𝕳𝖔𝖘𝖙𝖎𝖑𝖊",
    "'; DROP TABLE runs; --",
    "' OR '1'='1",
    "../../../etc/passwd",
    "..\\..\\windows\\system32",
    "/etc/passwd",
    "C:\\con",
    "CON",
    ".",
    "..",
    ".studio",
    ".bin",
    "-rf",
    "--help",
    "%00%2e%2e%2f",
    "$(touch owned)",
    "`touch owned`",
    "|touch owned",
    "a" * 1_000_000,
    "ض" * 100_000,
    "",
    " ",
    "null",
    "__proto__",
    "constructor",
]


def plan(prompt: str = PROMPT, words: str = "it is filled with air") -> EventChain:
    graph = StateGraph.from_json(
        {"nodes": [{"id": "ball#1", "category": "ball", "attributes": {"extent": "small"}}], "edges": []}
    )
    delta = PhysicalDelta((StateChange("ball#1", "large", words),), 0.5)
    edits = [[Update("ball#1", "extent", "large")]]
    return EventChain.build(prompt=prompt, num_frames=9, graph=graph, deltas=[delta], edits=edits)


def write_run(
    folder: Path, *, prompt: str = PROMPT, method: str = "physplan", seed: int = 0, video: bool = True
) -> Path:
    """A run's folder as it is left by a run that has a plan, and a video where asked for. Its files appear
    whole, as the pipeline's do: a page may ask for the run while it is written again."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = {"image": "0" * 64, "prompt": prompt, "method": method, "seed": seed}
    write_json(
        folder / layout.RUN,
        {"inputs": inputs, "identity": inputs, "versions": {"physplan": "0", "python": "3"}},
    )
    write_atomic(folder / layout.CONFIG, yaml.safe_dump({"preset": "sandbox"}))
    for name in (layout.INPUT, layout.FRAME):
        with atomic_path(folder / name) as temporary:
            Image.new("RGB", (32, 32), (90, 120, 150)).save(temporary)
    plan(prompt).save(folder / layout.PLAN)
    run = RunFolder(folder)
    run.finish("plan", "k", [folder / layout.PLAN], seconds=1.5, made_from={})
    if video:
        with atomic_path(folder / layout.VIDEO) as temporary:
            write_video(temporary)
        run.finish("video", "k", [folder / layout.VIDEO], seconds=2.5, made_from={})
        write_atomic(folder / layout.REPORT, "<!doctype html><script>document.title='owned'</script>report")
    return folder


def write_video(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=8)
        stream.height = stream.width = 32
        stream.pix_fmt = "yuv420p"
        for shade in (40, 90, 140):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), shade, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


class StandIn:
    """A worker that writes runs; while `gate` is closed it is under way, and can be stopped."""

    def __init__(self, log: Path) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.made: list[str] = []
        self._turn, self._stopping = threading.Lock(), set[str]()

    def call(
        self,
        what: str,
        given: Mapping[str, Any],
        on_event: Callable[[dict[str, Any]], None] | None = None,
        *,
        tag: str = "",
    ) -> dict[str, Any]:
        with self._turn:
            if what == "forecast":
                return dict(FORECAST)
            if what != "make":
                return {}
            self._stopping.discard(tag)
            event = {"stage": "latents", "kind": "progress", "message": "step 1 of 2 (layout): count 0.500"}
            while not self.gate.wait(0.01):
                assert on_event
                on_event(event | {"done": 1, "total": 2, "remaining": 3.0})
                if tag in self._stopping:
                    raise Stopped
            self.made.append(tag)
            folder = Path(given["folder"])
            write_run(folder, prompt=given["prompt"], method=given["method"], video=given["upto"] == "video")
            return {}

    def stop(self, tag: str) -> None:
        self._stopping.add(tag)

    def dismiss(self) -> None: ...

    def close(self) -> None: ...


def worker_of(studio: Studio, lane: str = "slow") -> StandIn:
    """The one process of a lane."""
    (found,) = studio.session._workers[lane]
    assert isinstance(found, StandIn)
    return found


@contextmanager
def serving(runs: Path, host: str = "127.0.0.1") -> Iterator[Studio]:
    studio = Studio(runs, host=host, port=0, make_worker=StandIn)  # type: ignore[arg-type]
    thread = threading.Thread(target=studio.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield studio
    finally:
        studio.server.shutdown()
        studio.close()
        thread.join()


class Client:
    """Asks as the page does."""

    def __init__(self, port: int, base: str = "/") -> None:
        self.port, self.base = port, base

    def ask(self, what: str, **given: Any) -> dict[str, Any]:
        status, answer = self.post(f"api/{what}", json.dumps(given).encode())
        assert status == 200, answer
        return dict(json.loads(answer))

    def refused(self, what: str, **given: Any) -> str:
        status, answer = self.post(f"api/{what}", json.dumps(given).encode())
        assert status == 400, answer
        return str(json.loads(answer)["error"])

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("POST", self.base + path, body, {"Content-Type": "application/json", **named})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def upload(self, content: bytes) -> tuple[int, dict[str, Any]]:
        status, answer = self.post("api/picture", content, Content_Type="application/octet-stream")
        return status, json.loads(answer)

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET", self.base + path, headers=named)
            reply = connection.getresponse()
            return reply.status, reply.read(), dict(reply.getheaders())
        finally:
            connection.close()

    def until_ended(self, run: str, seconds: float = 120) -> dict[str, Any]:
        """Whatever became of it, a folder or none."""
        deadline = time.monotonic() + seconds
        while (found := self.ask("state", run=run))["job"]["state"] in ("waiting", "running"):
            assert time.monotonic() < deadline, found["job"]
            time.sleep(0.05)
        return found

    def until(self, run: str, *states: str, seconds: float = 120) -> dict[str, Any]:
        deadline, pause = time.monotonic() + seconds, 0.02
        while True:
            found = self.ask("state", run=run)
            if found["job"] and found["job"]["state"] in states and "details" in found:
                return found
            assert time.monotonic() < deadline, found["job"]
            time.sleep(pause)
            pause = min(0.5, 1.2 * pause)  # as a page asks: whoever waits longer must not slow the work down


class Opened:
    """`physplan studio` as a process of its own, to be killed and started again."""

    def __init__(self, runs: Path) -> None:
        self.runs, self.port = runs, 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "physplan", "studio", "--no-browser", "--runs", str(self.runs)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        assert self.process.stderr
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        assert found, line + self.process.stderr.read()
        self.port = int(found[1])

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> str:
        self.process.terminate()
        _, err = self.process.communicate(timeout=60)
        return str(err)
