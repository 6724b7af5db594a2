"""Doing a set: part after part, so that one budget holds; a part that is done is not done again."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan_bench.bootstrap import Interval, cluster_bootstrap
from physplan_bench.records import Record, need_records
from physplan_bench.sets.equal_time import equal_count, seconds_of
from physplan_bench.sets.file import OWN
from physplan_bench.sets.parts import Part
from physplan_bench.tables import Row, Table, titled

Command = Callable[[Sequence[str]], int]
DONE = "part.json"


def check_parts(
    parts: Sequence[Part], parse: Callable[[Sequence[str]], object], *, engine: Sequence[str] = ()
) -> None:
    """Every command is read before the first is run; a wrong option is said in one sentence."""
    for part in parts:
        for command in part.commands(engine):
            said = io.StringIO()
            try:
                with contextlib.redirect_stderr(said):
                    parse(command)
            except SystemExit:
                reason = said.getvalue().strip().splitlines()[-1:] or ["it cannot be read"]
                raise PhysPlanError(
                    f"{part.benchmark}: {reason[0].partition('error: ')[2] or reason[0]}"
                ) from None


def run_parts(
    parts: Sequence[Part],
    command: Command,
    *,
    budget: float | None,
    tell: Callable[[str], None],
    engine: Sequence[str] = (),
) -> None:
    for number, part in enumerate(parts, 1):
        if (part.folder / DONE).is_file() and part.result.is_file():
            tell(f"{number} of {len(parts)}: {part.title}: done before")
            continue
        count = count_for(part, parts)
        tell(f"{number} of {len(parts)}: {part.title}")
        part.folder.mkdir(parents=True, exist_ok=True)
        for which, arguments in enumerate(part.commands(engine, count=count)):
            code = command([*arguments, *_budget(part, which, parts, budget)])
            if code:
                raise PhysPlanError(
                    f"{part.benchmark} with {part.label} did not end: the reason is above. The same command "
                    "goes on from here."
                )
        write_json(part.folder / DONE, {"best_of_n": count, "usd": spent([part])})


def count_for(part: Part, parts: Sequence[Part]) -> int | None:
    """The N of best_of_n@METHOD, of the same benchmark, preset and seed."""
    if not part.equal_to:
        return None
    same = {
        one.method: one.folder
        for one in parts
        if (one.benchmark, one.preset, one.seed) == (part.benchmark, part.preset, part.seed)
    }
    return equal_count(seconds_of(same[part.equal_to]), seconds_of(same["base"], choosing=True))


def spent(parts: Sequence[Part]) -> float:
    ledgers = [path for part in parts for path in part.ledgers if path.is_file()]
    return float(sum(Ledger(path).totals().usd for path in ledgers))


def _budget(part: Part, number: int, parts: Sequence[Part], budget: float | None) -> list[str]:
    """What is left of the set's, and what this command has paid before, which its own ledger counts."""
    if budget is None or part.benchmark in OWN:
        return []
    left = budget - spent(parts)
    if left <= 0:
        raise PhysPlanError(f"The set's budget of {budget:g} USD is spent: raise it to go on from here.")
    own = Ledger(path).totals().usd if (path := part.ledgers[number]).is_file() else 0.0
    return ["--budget", f"{left + float(own):.6f}"]


def all_records(parts: Sequence[Part]) -> list[Record]:
    """Of every part, with its own method and seed; paths as seen from here."""
    several = len({part.benchmark for part in parts}) > 1
    found = []
    for part in parts:
        for record in need_records(part.result):
            moved = record.moved(part.result.absolute().parent, Path.cwd())
            method = part.label if part.preset else record.method
            scene = f"{part.benchmark} {record.scene}" if several else record.scene
            found.append(
                replace(
                    moved,
                    method=method,
                    scene=scene,
                    cluster=f"{part.benchmark} {record.group}" if several else record.cluster,
                    seed=record.seed if part.seed is None else part.seed,
                )
            )
    return found


def set_table(parts: Sequence[Part]) -> Table:
    rows = []
    for benchmark, label in dict.fromkeys((part.benchmark, part.label) for part in parts):
        own = [part for part in parts if (part.benchmark, part.label) == (benchmark, label)]
        records = [record for part in own for record in need_records(part.result)]
        scores = np.array([record.score for record in records], dtype=float)
        interval: Interval = cluster_bootstrap(scores, [record.group for record in records])
        paid = spent(own)
        rows.append(Row(label=f"{benchmark}: {label}", cells=(len(records), interval, paid or None)))
    return Table(
        title="Set",
        columns=(*titled("videos", "mean score"), *titled("USD", digits=4)),
        rows=tuple(rows),
        label="Benchmark: preset and method",
        note="Scores are each benchmark's own. Intervals are over its scenes; seeds of one stay together.",
    )


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
