"""Processes to attack, without an import of torch for each: one that has loaded everything forks them.

A victim is a process of its own that runs the command line's `main`, in its own folder, with its own limits.
It can be killed from outside, or dies by SIGKILL at a file operation of its own: just before or just after
the n-th `fsync`, `replace`, `unlink` or `close`, where a torn file would come from.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEMORY = 700_000  # kB that a command may take beyond what is loaded before it starts
# Of computing, or of waiting for something: ten times what any command takes. A clock on the wall would blame
# a command for a machine that is busy with something else.
SECONDS = 60.0
TICKS = os.sysconf("SC_CLK_TCK")
OPERATIONS = ("fsync", "replace", "unlink", "close")


@dataclass(frozen=True, kw_only=True)
class Victim:
    """What to run. `dies` is (file operation, its number, whether after it); `file_size` a limit on files;
    `memory` how many MB of addresses it may have beyond those of its birth."""

    argv: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    dies: tuple[str, int, bool] | None = None
    file_size: int | None = None
    memory: int | None = None

    def to_json(self) -> str:
        return json.dumps({**vars(self), "cwd": str(self.cwd)})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int  # negative: the signal
    text: str  # all that was printed
    seconds: float
    memory: int  # kB beyond what was loaded
    hung: bool
    operations: Mapping[str, int]  # how many of each, if it ended by itself

    def problem(self, *, seconds: float = SECONDS) -> str | None:
        """What no command may do, whatever it was given."""
        if self.hung:
            return f"hangs: not done after {seconds:.0f} s of computing or waiting"
        if "Traceback (most recent call last)" in self.text:
            return f"traceback: {self.text.strip().splitlines()[-1][:200]}"
        if self.memory > MEMORY:
            return f"memory: {self.memory // 1000} MB"
        if self.code < 0 and self.code != -signal.SIGKILL:
            return f"died of signal {-self.code}"
        return None


class Nursery:
    """Forked from this process, which must have no threads yet; what is patched here is patched there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        ask, answer = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(ask[1])
            os.close(answer[0])
            _serve(ask[0], answer[1])
        os.close(ask[0])
        os.close(answer[1])
        self._ask, self._answer = os.fdopen(ask[1], "w"), os.fdopen(answer[0])

    def start(self, victim: Victim) -> int:
        self._count += 1
        return int(self._call("start", victim.to_json(), str(self._output(self._count)))["pid"])

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def wait(self, pid: int, seconds: float = SECONDS) -> Outcome:
        return Outcome(**self._call("wait", str(pid), str(seconds)))

    def run(self, victim: Victim, *, after: float | None = None, seconds: float = SECONDS) -> Outcome:
        """To its end, or to its kill `after` so many seconds."""
        pid = self.start(victim)
        if after is not None:
            time.sleep(after)
            self.kill(pid)
        return self.wait(pid, seconds)

    def close(self) -> None:
        self._ask.close()
        os.waitpid(self._pid, 0)

    def computed(self) -> float:
        """Seconds of CPU of all victims that have ended."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:15])) / TICKS

    def _output(self, number: int) -> Path:
        return self.folder / f"output-{number}.txt"

    def _call(self, *words: str) -> dict[str, Any]:
        print("\t".join(words), file=self._ask, flush=True)
        found: dict[str, Any] = json.loads(self._answer.readline())
        return found


def _serve(ask: int, answer: int) -> None:
    outputs: dict[int, tuple[Path, float]] = {}
    with os.fdopen(ask) as requests, os.fdopen(answer, "w") as answers:
        for line in requests:
            what, *words = line.rstrip("\n").split("\t")
            if what == "start":
                pid = _fork(json.loads(words[0]), Path(words[1]))
                outputs[pid] = Path(words[1]), time.monotonic()
                reply: dict[str, Any] = {"pid": pid}
            else:
                reply = _wait(int(words[0]), float(words[1]), *outputs.pop(int(words[0])))
            print(json.dumps(reply), file=answers, flush=True)
    os._exit(0)


def _fork(victim: dict[str, Any], output: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        with output.open("wb", buffering=0) as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        sys.stdout, sys.stderr = (
            os.fdopen(n, "w", encoding="utf-8", errors="backslashreplace") for n in (1, 2)
        )
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = _run(victim, _counted(output))
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _counted(output: Path) -> Path:
    return output.with_suffix(".json")


def _run(victim: dict[str, Any], counted: Path) -> int:
    from physplan import cli

    os.chdir(victim["cwd"])
    os.environ.update(victim["environ"])
    if victim["file_size"] is not None:
        # Only files of the victim's own folder are meant: what it prints is short.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (victim["file_size"],) * 2)
    if victim["memory"] is not None:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + victim["memory"] * 1_000_000,) * 2)
    counts = _watch_operations(*victim["dies"] or ("", 0, False))
    try:
        return cli.main(victim["argv"])
    except SystemExit as end:  # of argparse
        return end.code if isinstance(end.code, int) else 1
    finally:
        with contextlib.suppress(OSError):  # no room: nothing was counted
            counted.write_text(json.dumps(counts))


def _watch_operations(deadly: str, number: int, after: bool) -> dict[str, int]:
    """Count them, and die at one."""
    counts = dict.fromkeys(OPERATIONS, 0)

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            due = name == deadly and counts[name] == number
            if due and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **options)
            if due:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return operation

    for name in OPERATIONS:
        setattr(os, name, watched(name, getattr(os, name)))
    return counts


def _wait(pid: int, seconds: float, output: Path, started: float) -> dict[str, Any]:
    hung, ended = False, os.pidfd_open(pid)
    moved, computed = time.monotonic(), 0.0
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        now, waits = _computed(pid)
        if now > computed or not waits:
            moved, computed = time.monotonic(), now
        if not hung and (computed > seconds or time.monotonic() - moved > seconds):
            hung = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        select.select([ended], [], [], 0.25)
    os.close(ended)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = output.read_bytes().decode("utf-8", "replace") if output.exists() else ""
    output.unlink(missing_ok=True)
    counted = _counted(output)
    operations = json.loads(counted.read_text() or "{}") if counted.exists() else {}
    counted.unlink(missing_ok=True)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "text": text,
        "seconds": time.monotonic() - started,
        "memory": usage.ru_maxrss - loaded,
        "hung": hung,
        "operations": operations,
    }


def _computed(pid: int) -> tuple[float, bool]:
    """Seconds that a process has computed, and whether it waits for something else than its turn."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # no such system, or no such process any more
        return 0.0, True
    return (int(fields[11]) + int(fields[12])) / TICKS, fields[0] in "SDTtZ"


def load_everything() -> None:
    """What victims need, imported once. Nothing is computed with: autograd does not survive a fork."""
    import importlib

    import torch

    torch.set_num_threads(1)
    for name in (
        *("cv2", "av", "google.genai", "openai", "rich.table", "rich.progress", "physplan.report"),
        *(
            "physplan.pipeline.stage_runner",
            "physplan_bench.batch.jobs",
            "physplan_bench.batch.gallery",
        ),
        *(
            "physplan_bench.sandbox.benchmark",
            "physplan_models.clients.gemini",
            "physplan_models.clients.openai",
        ),
        *("physplan.drawing.png", "physplan.drawing.html", "physplan.cli.progress", "physplan.verify"),
    ):
        importlib.import_module(name)
    from physplan.cli import build_parser
    from physplan.pipeline import PhysPlan

    build_parser()
    backends = PhysPlan.from_preset("sandbox").backends
    _ = backends.segmenter, backends.depth, backends.encoder, backends.video
