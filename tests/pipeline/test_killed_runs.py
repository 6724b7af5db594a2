"""kill -9 at every stage boundary and at random instants, then the same command again.

It always finishes, with the same plan and the same latents, without asking twice for an answer it had, and
without a torn file.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from safetensors import safe_open
from tests.pipeline import tiny_pipelines

from physplan.calls.ledger import Ledger
from physplan.files import TEMPORARY
from physplan.graph import EventChain
from physplan.runs.layout import STAGES
from physplan.video.files import read_video
from physplan_testing.loopback import Answer, Asked, GeminiServer

CHILD = Path(__file__).with_name("forked_runs.py")
CALLS = 11  # 8 for the plan, 3 drawings
BOUNDARIES = [(stage, kind) for stage in STAGES for kind in ("started", "finished")]


class Runner:
    """Runs of the tiny paper preset that can be killed."""

    def __init__(self, models: Path, ice: Path, server: GeminiServer) -> None:
        config = json.dumps(tiny_pipelines.paper(models, server.url))
        root = Path(__file__).parents[2]
        paths = os.pathsep.join((str(root), str(root / "tests")))
        self.process = subprocess.Popen(
            [sys.executable, CHILD, config, ice, tiny_pipelines.PROMPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "GEMINI_API_KEY": server.key, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        assert self._read() == "ready"

    def run(self, folder: Path, stage: str = "-", kind: str = "-", after: float | None = None) -> int:
        """The status of a run that is killed at a boundary, or `after` so many seconds."""
        assert self.process.stdin is not None
        print(folder, stage, kind, file=self.process.stdin, flush=True)
        pid = int(self._read().removeprefix("started "))
        if after is not None:
            time.sleep(after)
            with contextlib.suppress(ProcessLookupError):  # done before that, on a machine less busy by now
                os.kill(pid, signal.SIGKILL)
        return int(self._read().removeprefix("ended "))

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def slowly(asked: Asked) -> Answer:
    """Answers take a while, so that kills also fall into calls."""
    return replace(tiny_pipelines.respond(asked), stall=0.02)


@pytest.fixture(scope="module")
def server() -> Iterator[GeminiServer]:
    with GeminiServer(slowly) as server:
        yield server


@pytest.fixture(scope="module")
def runner(models: Path, ice: Path, server: GeminiServer) -> Iterator[Runner]:
    runner = Runner(models, ice, server)
    yield runner
    runner.process.kill()
    runner.process.wait()


@pytest.fixture(scope="module")
def undisturbed(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    started = time.monotonic()
    assert runner.run(folder) == 0
    return folder, time.monotonic() - started


def stored(folder: Path) -> int:
    return len(list(folder.glob("calls/answers/[!.]*.json")))


def requests(server: GeminiServer) -> int:
    """How many requests arrived, once those that a killed run had sent are read too."""
    known = -1
    while server.active or known != len(server.asked):
        known = len(server.asked)
        time.sleep(0.1)
    return known


def check_whole(folder: Path) -> None:
    """Every file that is there can be read; temporary ones begin with a dot."""
    for path in (p for p in folder.rglob("[!.]*") if p.is_file()):
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix in (".png", ".jpg"):
            Image.open(path).load()
        elif path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                assert file.keys() is not None
        elif path.suffix == ".mp4":
            assert len(read_video(path).frames) == 9


def check_same(folder: Path, expected: Path) -> None:
    for name in ("plan.json", "evidence.safetensors", "latents.safetensors", "losses.json"):
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    EventChain.load(folder / "plan.json").verify()
    answered = Counter(
        e.key for e in Ledger(folder / "calls" / "ledger.jsonl").entries() if e.outcome == "answered"
    )
    assert set(answered.values()) == {1}
    assert len(answered) == CALLS
    assert not list(folder.rglob(f"{TEMPORARY}*"))


def test_every_stage_boundary(
    runner: Runner, server: GeminiServer, undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    """One run, killed at each boundary in turn, each time going on from the last."""
    folder = tmp_path / "run"
    before = len(server.asked)
    for stage, kind in BOUNDARIES:
        assert runner.run(folder, stage, kind) == signal.SIGKILL
        check_whole(folder)
    assert runner.run(folder) == 0
    assert len(server.asked) - before == CALLS
    check_same(folder, undisturbed[0])


@pytest.mark.parametrize(
    ("folders", "kills"),
    [(2, 2), pytest.param(10, 3, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
    ids=["4-instants", "30-instants"],
)
def test_random_instants(
    runner: Runner,
    server: GeminiServer,
    undisturbed: tuple[Path, float],
    tmp_path: Path,
    folders: int,
    kills: int,
) -> None:
    expected, seconds = undisturbed
    moments = random.Random(7)
    killed = 0
    for number in range(folders):
        folder = tmp_path / f"run-{number}"
        for _ in range(kills):
            status = runner.run(folder, after=moments.uniform(0, seconds / kills))
            killed += status == signal.SIGKILL
            seconds /= 2 if status == 0 else 1  # the machine is less busy than when they were measured
            check_whole(folder)
        had, before = stored(folder), requests(server)
        assert runner.run(folder) == 0
        assert len(server.asked) - before == CALLS - had, "only what was not stored is asked for"
        check_same(folder, expected)
    assert killed >= folders // 2


def test_a_finished_run_does_nothing(
    runner: Runner, server: GeminiServer, undisturbed: tuple[Path, float]
) -> None:
    folder = undisturbed[0]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    asked = len(server.asked)
    assert runner.run(folder) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before
    assert len(server.asked) == asked
