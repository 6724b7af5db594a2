"""Videos to choose between, people who choose, and a real server to kill."""

from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import Study
from physplan_bench.study.server import StudyServer, open_server

METHODS = ("PhysPlan", "CogVideoX-I2V-5B", "Frame Guidance")
NOUNS = "ball stone candle magnet balloon bottle spoon leaf rope kettle drop wheel lamp brush"
LIKES = {"plausibility": 0.75, "quality": 0.6, "smoothness": 0.7}  # how often the first method is liked


def write_folders(root: Path, *, prompts: int) -> dict[str, Path]:
    folders = {method: root / f"folder{i}" for i, method in enumerate(METHODS)}
    for i, (method, folder) in enumerate(folders.items()):
        folder.mkdir()
        for number, noun in enumerate(NOUNS.split()[:prompts]):
            path = folder / f"a_{noun}_falls_from_the_table.mp4"
            write_video(path, shade=60 * i + 9 * number, comment=f"made by {method}")
    return folders


def write_video(
    path: Path, *, shade: int = 90, frames: int = 4, size: int = 32, codec: str = "libx264", comment: str = ""
) -> Path:
    with av.open(str(path), "w") as container:
        container.metadata["comment"] = comment
        stream = container.add_stream(codec, rate=Fraction(16))
        stream.height = stream.width = size
        stream.pix_fmt = "yuv420p"
        for i in range(frames):
            picture = np.full((size, size, 3), shade, np.uint8)
            picture[4 * i : 4 * i + 8, 4:12] = 255 - shade
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


class Tally:
    """What people chose, counted beside the study's own books: by criterion and baseline, for the first."""

    def __init__(self, study: Study, seed: int = 0) -> None:
        self.method = {name: method for one in study.prompts for method, name in one.videos.items()}
        self.good = {known.good for known in study.checks}
        self.wins: Counter[tuple[str, str]] = Counter()
        self.votes: Counter[tuple[str, str]] = Counter()
        self.left: Counter[str] = Counter()
        self._rng = random.Random(seed)

    def choose(self, trial: Mapping[str, str]) -> dict[str, str]:
        """What this person likes; not counted before `count` says that it was sent."""
        sides = {"a": trial["a"], "b": trial["b"]}
        if self.good & set(sides.values()):
            return {key: next(s for s, name in sides.items() if name in self.good) for key in KEYS}
        (ours,) = [side for side, name in sides.items() if self.method[name] == METHODS[0]]
        other = "ab".replace(ours, "")
        return {key: ours if self._rng.random() < LIKES[key] else other for key in KEYS}

    def count(self, trial: Mapping[str, str], choices: Mapping[str, str]) -> None:
        if self.good & {trial["a"], trial["b"]}:
            return
        (against,) = {self.method[trial[side]] for side in "ab"} - {METHODS[0]}
        for key, side in choices.items():
            self.votes[key, against] += 1
            self.wins[key, against] += self.method[trial[side]] == METHODS[0]
            self.left[key] += side == "a"


class Served:
    """`physplan study serve` as a process of its own."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0) -> None:
        self.folder, self.arguments, self.port = folder, arguments, port
        self.start()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *failure: object) -> None:
        self.kill()  # a test that fails leaves no server behind

    def start(self) -> None:
        command = [sys.executable, "-m", "physplan", "study", "serve", str(self.folder), *self.arguments]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        assert self.process.stderr
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.link = line.split()[-1]
        found = re.search(r":(\d+)/", self.link)
        assert found, line
        self.port = int(found[1])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> str:
        self.process.terminate()
        _, err = self.process.communicate(timeout=20)
        return str(err)


class Person:
    """A participant without a browser: asks as the page does, and asks again when nobody answers."""

    def __init__(self, port: int) -> None:
        self.port, self.token = port, secrets.token_hex(16)

    def ask(self, what: str, **body: Any) -> dict[str, Any]:
        body = {"participant": self.token, **body}
        deadline = time.monotonic() + 60
        while True:
            try:
                status, answer = post(self.port, f"/api/{what}", json.dumps(body).encode())
                assert status == 200, answer
                return json.loads(answer)
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline, "the server stays away"
                time.sleep(0.05)


def post(port: int, path: str, body: bytes, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, {"Content-Type": "application/json", **named})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def get(port: int, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={n.replace("_", "-"): v for n, v in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read(), dict(reply.getheaders())
    finally:
        connection.close()


@contextmanager
def serving(folder: Path, host: str = "127.0.0.1") -> Iterator[StudyServer]:
    server = open_server(folder, host=host, port=0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
