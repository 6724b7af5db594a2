"""Methods or results compared pair by pair: the same scenes and seeds, intervals over scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import Interval, cluster_bootstrap, paired_difference
from physplan_bench.records import Record
from physplan_bench.tables import Row, Table, titled


@dataclass(frozen=True, kw_only=True)
class Compared:
    """`won`: pairs with a higher score here than in the baseline."""

    method: str
    baseline: str
    pairs: int
    mean: Interval
    baseline_mean: Interval
    difference: Interval
    won: int
    lost: int


def methods_of(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.method for record in records))


def compare(records: Sequence[Record], method: str, baseline: str) -> Compared | None:
    """None where the two share no scene and seed."""
    mine = {(r.scene, r.seed): r for r in records if r.method == method}
    theirs = {(r.scene, r.seed): r for r in records if r.method == baseline}
    shared = [key for key in mine if key in theirs]
    if not shared:
        return None
    here = np.array([mine[key].score for key in shared])
    there = np.array([theirs[key].score for key in shared])
    clusters = [mine[key].group for key in shared]
    return Compared(
        method=method,
        baseline=baseline,
        pairs=len(shared),
        mean=cluster_bootstrap(here, clusters),
        baseline_mean=cluster_bootstrap(there, clusters),
        difference=paired_difference(here, there, clusters),
        won=int((here > there).sum()),
        lost=int((here < there).sum()),
    )


def pairs_table(records: Sequence[Record], baseline: str | None = None) -> Table | None:
    """Every method against the first, or against `baseline`; None with one method."""
    methods = methods_of(records)
    if len(methods) < 2:
        return None
    if baseline is not None and baseline not in methods:
        raise PhysPlanError(f"There is no method {baseline!r} in the result: it has {', '.join(methods)}.")
    against = baseline or methods[0]
    found = [compare(records, method, against) for method in methods if method != against]
    return compared_table([one for one in found if one], f"Pair by pair, less {against}")


def compared_table(found: Sequence[Compared], title: str) -> Table:
    titles = ("Pairs", "Mean", "Baseline", "Difference", "Won", "Lost")
    return Table(
        title=title,
        columns=titled(*titles, digits=1),
        rows=tuple(
            Row(
                label=one.method,
                cells=(one.pairs, one.mean, one.baseline_mean, one.difference, one.won, one.lost),
            )
            for one in found
        ),
        note="Same scenes and seeds; 95 % intervals over scenes (bootstrap).",
    )


def match_results(
    before: Sequence[Record], after: Sequence[Record], *, names: tuple[str, str]
) -> tuple[list[Record], list[Compared]]:
    """Both results' records under names that tell them apart, and each common method compared.

    With one method in each, the two are compared whatever they are called.
    """
    ones, others = methods_of(before), methods_of(after)
    same = [(method, method) for method in ones if method in others]
    pairs = [(ones[0], others[0])] if len(ones) == len(others) == 1 else same
    first, second = names if names[0] != names[1] else (f"A {names[0]}", f"B {names[1]}")

    def label(method: str, name: str, count: int) -> str:
        return name if count == 1 else f"{method}, {name}"

    records = [replace(r, method=label(r.method, first, len(ones))) for r in before]
    records += [replace(r, method=label(r.method, second, len(others))) for r in after]
    found = [compare(records, label(b, second, len(others)), label(a, first, len(ones))) for a, b in pairs]
    return records, [one for one in found if one]


def changes_of(records: Sequence[Record], compared: Sequence[Compared]) -> dict[tuple[str, int], str]:
    """`won` or `lost` by scene and seed; a case both won and lost by different methods is `lost`."""
    scores = {record.key: record.score for record in records}
    found: dict[tuple[str, int], str] = {}
    for one in compared:
        for record in (r for r in records if r.method == one.method):
            before = scores.get((one.baseline, record.scene, record.seed))
            if before is not None and before != record.score:
                change = "won" if record.score > before else "lost"
                at = record.scene, record.seed
                found[at] = "lost" if found.get(at) == "lost" else change
    return found
