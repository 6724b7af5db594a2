"""A cheap stand-in for a real case, with faults on demand; a module, because worker processes import it."""

from __future__ import annotations

import errno
import gc
import os
import signal
import time
from collections.abc import Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction


def make_cases(count: int, *, steps: int = 100) -> list[Case]:
    return [Case(name=f"scene {i:03d}", identity={"seed": i, "steps": steps}) for i in range(count)]


def fail_once(case: Case, directory: Path, faults: Mapping[str, str]) -> None:
    """The fault that is named for this case, the first time it is tried."""
    fault = faults.get(case.name)
    marker = directory / "fault-done"
    if fault and not marker.exists():
        directory.mkdir(parents=True, exist_ok=True)
        marker.touch()
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "stop in its answer":
            [pipe] = [thing for thing in gc.get_objects() if isinstance(thing, Connection)]
            os.write(pipe.fileno(), b"\0\0\x10\0the first of 4096 bytes")
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "hang":
            time.sleep(600)
        if fault == "full disk":
            raise OSError(errno.ENOSPC, "No space left on device")
        raise RuntimeError("injected")


def do_case(
    case: Case, directory: Path, *, faults: Mapping[str, str], log: Path | None, seconds: float, loaded: int
) -> dict[str, Any]:
    fail_once(case, directory, faults)
    if log:
        with log.open("a") as file:
            file.write(f"{case.name}\n")
    time.sleep(seconds)
    rng = np.random.default_rng(case.identity["seed"])
    (directory / "walk.txt").write_text(f"{case.name}\n")
    return {
        "value": float(rng.standard_normal(case.identity["steps"]).sum()),
        "pid": os.getpid(),
        "loaded": loaded,
    }


def setup(
    faults: Mapping[str, str] | None = None, log: Path | None = None, seconds: float = 0.0
) -> CaseFunction:
    """Loads 'the model': a number that tells how often this process has done so."""
    global _loads
    _loads += 1
    return partial(do_case, faults=faults or {}, log=log, seconds=seconds, loaded=_loads)


_loads = 0


def broken_setup() -> CaseFunction:
    raise RuntimeError("no weights")
