"""How long the studio's list of runs takes: the first page of a folder with many runs, and what follows it.

    make bench-studio        or        python -m benchmarks.studio [--runs 1000] [--rounds 5]

Each round begins with a new index of the same folder, as after a start of the studio. Processor seconds
stand beside the clock's, for a machine that is busy with something else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from physplan_bench.tables import Column, Row, Table, render
from physplan_studio.listing import Asked, list_runs, unless_seen
from physplan_studio.run_index import RunIndex


def write_runs(root: Path, template: Path, count: int) -> None:
    """Copies of a run's small files, each with its own words."""
    for number in range(count):
        folder = root / f"run-{number}"
        shutil.copytree(template, folder)
        record = json.loads((folder / "run.json").read_text("utf-8"))
        record["inputs"]["prompt"] = record["identity"]["prompt"] = f"the ball grows, number {number}"
        (folder / "run.json").write_text(json.dumps(record), "utf-8")


def make_template(folder: Path) -> None:
    """A finished run of the sandbox's sketch, as the command line leaves it."""
    from physplan.pipeline import PhysPlan
    from physplan_sandbox import samples

    sample = samples.sample(next(iter(samples.names())))
    pp = PhysPlan.from_preset("sandbox")
    pp.generate(samples.first_frame(sample), sample.prompt, method="storyboard", output_dir=folder)


def timed(act: Callable[[], Any]) -> tuple[float, float, int]:
    """Seconds, processor seconds, and bytes of the answer."""
    clock, processor = time.perf_counter(), time.process_time()
    answer = act()
    return time.perf_counter() - clock, time.process_time() - processor, len(json.dumps(answer))


def measure(root: Path) -> dict[str, tuple[float, float, int]]:
    index = RunIndex(root)

    def page(number: int, seen: str = "", search: str = "") -> dict[str, Any]:
        asked = Asked.read({"page": number, "seen": seen, "search": search})
        return unless_seen(list_runs(index, {}, [], asked), seen)

    found = {"first page": timed(lambda: page(0))}
    seen = page(0)["seen"]
    found["the same, 3 s later"] = timed(lambda: page(0, seen))
    found["next page"] = timed(lambda: page(1))
    found["first search"] = timed(lambda: page(0, search="number 7"))
    found["second search"] = timed(lambda: page(0, search="number 8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="physplan-studio-") as name:
        template, root = Path(name) / "template", Path(name) / "runs"
        make_template(template)
        root.mkdir()
        write_runs(root, template, args.runs)
        rounds = [measure(root) for _ in range(args.rounds)]
    rows = []
    for step in rounds[0]:
        clock, processor, size = (median(one[step][k] for one in rounds) for k in range(3))
        rows.append(Row(label=step, cells=(clock, processor, size / 1000)))
    columns = (Column(title="s", digits=3), Column(title="CPU s", digits=3), Column(title="kB", digits=1))
    title = f"{args.runs} runs, medians of {args.rounds}; load {os.getloadavg()[0]:.1f}"
    print(render(Table(title=title, columns=columns, rows=tuple(rows), label="list")), end="")


if __name__ == "__main__":
    main()
