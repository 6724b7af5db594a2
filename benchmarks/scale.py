"""How fast the case engine is: cases a second with 1 and 2 workers, and what the engine itself costs a case.

    make bench-scale        or        python -m benchmarks.scale [--cases 60] [--seconds 0.1] [--ray]

The case is a stand-in that computes for a fixed time on one core; the empty case shows the overhead alone.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction, EngineConfig, run_cases
from physplan_bench.tables import Column, Row, Table, render


def setup(seconds: float) -> CaseFunction:
    return partial(compute, seconds=seconds)


def compute(case: Case, directory: Path, *, seconds: float) -> Mapping[str, Any]:
    """Matrix products for `seconds` of processor time."""
    matrix = np.random.default_rng(case.identity["seed"]).normal(size=(64, 64))
    started, products = time.process_time(), 0
    while time.process_time() - started < seconds:
        matrix = np.linalg.qr(matrix @ matrix.T)[0]
        products += 1
    return {"trace": float(np.trace(matrix @ matrix.T)), "products": products}


def measure(count: int, seconds: float, config: EngineConfig) -> float:
    """Wall-clock seconds of a whole run in an empty folder, without starting workers or Ray."""
    cases = [Case(name=f"case {i:04d}", identity={"seed": i}) for i in range(count)]
    with tempfile.TemporaryDirectory(prefix="physplan-scale-") as folder:
        ready: list[float] = []

        def first_done(progress: Any) -> None:
            if progress.done >= config.workers and not ready:
                ready.append(time.perf_counter())

        report = run_cases(cases, partial(setup, seconds), Path(folder), config=config, progress=first_done)
        finished = time.perf_counter()
    report.require_complete()
    # the first case of each worker includes its start; the rest is the steady state
    return (finished - ready[0]) * count / (count - config.workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.1, help="processor time of a case")
    parser.add_argument("--ray", action="store_true", help="measure a local Ray cluster too")
    args = parser.parse_args()
    ways = {"serial": EngineConfig(), "2 processes": EngineConfig(workers=2)}
    if args.ray:
        import ray

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        ways |= {"Ray, 1 worker": EngineConfig(ray=""), "Ray, 2 workers": EngineConfig(workers=2, ray="")}
    rows = []
    for label, config in ways.items():
        working = measure(args.cases, args.seconds, config)
        empty = measure(10 * args.cases, 0.0, config)
        rows.append(Row(label=label, cells=(args.cases / working, 1000 * empty / (10 * args.cases))))
    table = Table(
        title=f"{args.cases} cases of {args.seconds:g} s on {os.cpu_count()} cores",
        columns=(Column(title="cases/s", best="max"), Column(title="overhead per case (ms)", best="min")),
        rows=tuple(rows),
        label="engine",
        note="Overhead: the whole run of empty cases over their number, with claims and fsynced results.",
    )
    print(render(table), end="")


if __name__ == "__main__":
    main()
