"""How a batch grows with workers: wall clock and processor seconds of 30 rows, and the start of a worker.

    make bench-batch        or        python -m benchmarks.batch [--rows 30] [--ray] [--rounds 3]

The rows are sandbox scenes, three seeds each, so that every third row makes a plan. Ways are interleaved;
medians are shown. On a busy machine the wall clock says little: the last column is what the processor seconds
allow, those of the driver and then those of its workers side by side.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction, EngineConfig, Setup, run_cases
from physplan_bench.tables import Column, Row, Table, render

SEEDS = 3
QUICK = ("video.num_inference_steps=8", "guided_sketch.schedule={repeats: [2, 2], travel: [0, 1]}")
WAYS = {"1 worker": (1, False), "2 workers": (2, False), "Ray, 1": (1, True), "Ray, 2": (2, True)}


def write_rows(folder: Path, count: int) -> Path:
    """`count` rows of count / 3 scenes."""
    from physplan_sandbox import samples

    lines = ["image,prompt,seed"]
    for name in list(samples.names())[: -(-count // SEEDS)]:
        sample = samples.sample(name)
        samples.first_frame(sample).save(folder / f"{name}.png")
        lines += [f'{name}.png,"{sample.prompt}",{seed}' for seed in range(SEEDS)]
    path = folder / "rows.csv"
    path.write_text("\n".join(lines[: count + 1]) + "\n", "utf-8")
    return path


def run_once(rows: Path, workers: int, ray: bool) -> dict[str, float]:
    """One batch in this process; seconds of the clock, of this processor time and of its workers'."""
    from physplan.pipeline.config_loading import read_assignments
    from physplan_bench.batch.jobs import read_jobs, run_batch
    from physplan_bench.shared_budget import total_settings

    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="physplan-batch-") as name:
        folder = Path(name) / "out"
        changes = {**read_assignments(list(QUICK)), **total_settings(folder, None)}
        jobs = read_jobs(rows, "sandbox", changes, folder, here=True)
        engine = EngineConfig(workers=workers, ray="local" if ray else None)
        run_batch(jobs, folder, engine=engine).require_complete()
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "wall": time.perf_counter() - started,
        "driver": own.ru_utime + own.ru_stime,
        "workers": others.ru_utime + others.ru_stime,
    }


def start_cost(rows: Path) -> float:
    """Processor seconds of a worker process from its beginning until its first row could begin."""
    from physplan_bench.batch.jobs import make_video_maker, read_jobs
    from physplan_bench.shared_budget import total_settings

    with tempfile.TemporaryDirectory(prefix="physplan-start-") as name:
        folder = Path(name) / "out"
        jobs = read_jobs(rows, "sandbox", total_settings(folder, None), folder, here=True)
        setup = partial(make_video_maker, {job.row.name: job for job in jobs}, folder)
        cases = [Case(name=f"start {i}", identity={"i": i}) for i in range(2)]
        report = run_cases(cases, partial(stopwatch, setup), folder, config=EngineConfig(workers=2))
    return float(median(one["seconds"] for one in report.results.values()))


def stopwatch(setup: Setup) -> CaseFunction:
    setup()

    def read(case: Case, directory: Path) -> Mapping[str, Any]:
        return {"seconds": time.process_time()}

    return read


def measured(rows: Path, way: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.batch", "--one", way, "--file", str(rows)],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(found: Mapping[str, Sequence[Mapping[str, float]]], rows: int) -> Table:
    def mid(way: str, name: str) -> float:
        return median(one[name] for one in found[way])

    def allowed(way: str) -> float:
        """Seconds on free cores: the driver's, then the workers' beside each other."""
        if WAYS[way][1]:
            return float("nan")  # Ray's workers are not children of the driver
        return mid(way, "driver") + mid(way, "workers") / WAYS[way][0]

    first = {False: "1 worker", True: "Ray, 1"}
    lines = []
    for way, (_, ray) in WAYS.items():
        if way in found:
            one = first[ray]
            cells = (mid(way, "wall"), mid(one, "wall") / mid(way, "wall"), mid(way, "driver"))
            lines.append(Row(label=way, cells=(*cells, mid(way, "workers"), allowed(one) / allowed(way))))
    return Table(
        title=f"{rows} rows of the sandbox, {SEEDS} seeds a scene; load {os.getloadavg()[0]:.1f}",
        columns=(
            Column(title="s", digits=1),
            Column(title="times as fast", digits=2),
            Column(title="driver CPU s", digits=1),
            Column(title="workers CPU s", digits=1),
            Column(title="allowed by CPU s", digits=2),
        ),
        rows=tuple(lines),
        label="batch",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", action="store_true", help="measure a local Ray cluster too")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_once(args.file, *WAYS[args.one])))
        return
    with tempfile.TemporaryDirectory(prefix="physplan-rows-") as name:
        rows = write_rows(Path(name), args.rows)
        print(f"A worker's start: {start_cost(rows):.2f} CPU s")
        ways = [way for way, (_, ray) in WAYS.items() if args.ray or not ray]
        found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
        for _ in range(args.rounds):
            for way in ways:
                found[way].append(measured(rows, way))
        print(render(table(found, args.rows)), end="")


if __name__ == "__main__":
    main()
