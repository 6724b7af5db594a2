"""`make bench-plan`: the planner's own time per plan, and whether independent calls run side by side (K = 3).

Real SDK, real HTTP on loopback, stored answers and ledger on disk. Own time is what the planner spends on
checks, graphs, prompts, pictures and files, as processor time: the server is another process, and what the
SDK spends inside a call is taken off. Side by side is what the server sees at once. Neither changes much with
what else runs on the machine, so both are always judged; wall times do, and are printed to compare.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from physplan.reasoning import plan
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer, Loopback, Respond
from physplan_testing.sites import Site

PLANS = 20
SLOW_PLANS = 5
DELAY = 0.3
OWN_LIMIT = 0.050
CALLS = 8  # parse, decompose, three translations, and three instructions, which run side by side
SIDE_BY_SIDE = 3
CHAIN = CALLS - SIDE_BY_SIDE + 1


class Metered:
    """A client that counts the processor time of its calls; the gateway gives each a thread of its own."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def complete(self, *args: Any, **options: Any) -> Any:
        started = time.thread_time()
        try:
            return self._client.complete(*args, **options)
        finally:
            with self._lock:
                self.seconds += time.thread_time() - started


def run(server: Loopback, picture: Path) -> tuple[float, float]:
    """Wall seconds and own processor seconds of one plan with an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        reasoner = Site(server, Path(folder)).reasoner()
        calls = reasoner.gateway.client = Metered(reasoner.gateway.client)
        started, spent = time.perf_counter(), time.process_time()
        chain = plan(reasoner, picture, melting.PROMPT)
        wall, spent = time.perf_counter() - started, time.process_time() - spent
        assert chain.anchors == (14, 29, 41)
        return wall, spent - calls.seconds


def slow(asked: Asked) -> Answer:
    return replace(melting.respond(asked), stall=DELAY)


@contextmanager
def served(respond: Respond) -> Iterator[GeminiServer]:
    """A server in a process of its own, whose work is not the planner's."""
    server = GeminiServer(respond)
    process = multiprocessing.get_context("fork").Process(target=server._server.serve_forever, daemon=True)
    process.start()
    try:
        yield server
    finally:
        process.terminate()
        process.join()
        server._server.server_close()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, served(melting.respond) as quick:
        picture = melting.draw(Path(folder) / "ice.png")
        with Image.open(picture) as small:
            small.resize((720, 480)).save(picture)
        run(quick, picture)  # imports and connections
        times = [run(quick, picture) for _ in range(PLANS)]
        with GeminiServer(slow) as late:
            slow_wall = statistics.median(run(late, picture)[0] for _ in range(SLOW_PLANS))
    owns = sorted(own for _, own in times)
    own = statistics.median(owns)
    wall = statistics.median(wall for wall, _ in times)
    print(
        f"planner's own processor time per plan (K = 3): median {own * 1e3:.1f} ms of {PLANS} plans, from "
        f"{owns[0] * 1e3:.1f} to {owns[-1] * 1e3:.1f} (limit {OWN_LIMIT * 1e3:.0f} ms)"
    )
    print(f"wall time when the model answers at once: {wall * 1e3:.1f} ms")
    print(
        f"wall time when each of the {CALLS} calls takes {DELAY * 1e3:.0f} ms: {slow_wall:.2f} s (slowest "
        f"chain of {CHAIN} calls: {CHAIN * DELAY:.2f} s; one after the other: {CALLS * DELAY:.2f} s)"
    )
    print(f"calls under way at once: {late.peak} (of {SIDE_BY_SIDE} that are independent)")
    faults = ["the planner's own time is over its limit"] if own >= OWN_LIMIT else []
    faults += ["independent calls do not run side by side"] if late.peak < SIDE_BY_SIDE else []
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"LIMIT MISSED: {' and '.join(faults)} ({load})" if faults else f"ok ({load})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
