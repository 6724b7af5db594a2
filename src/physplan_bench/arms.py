"""Several methods on the same cases: each one's score, and its difference to the first, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import Interval, cluster_bootstrap, paired_difference
from physplan_bench.paper_tables import PHYGENBENCH_COLUMNS, PHYSICS_IQ_COLUMNS, reported_rows
from physplan_bench.tables import Column, Row, Table

if TYPE_CHECKING:
    from physplan_bench.physics_iq.benchmark import PhysicsIQConfig

Scores = Mapping[str, tuple[float, str]]  # case -> its score, and the cluster it belongs to
NOTE = "95 % bootstrap intervals. Difference: to {first}, case by case, on the same plan and keyframes."


def compare_arms(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Per method the mean score, and the paired difference to the first method's; cases must be the same."""
    first, *others = scores
    ids = list(scores[first])
    for other in others:
        if set(scores[other]) != set(ids):
            raise PhysPlanError(
                f"{other} and {first} have videos of different cases: make all of both first."
            )
    clusters = [scores[first][id][1] for id in ids]

    def values(method: str) -> np.ndarray:
        return np.array([scores[method][id][0] for id in ids])

    return {
        "reference": first,
        "arms": {
            method: {
                "score": asdict(cluster_bootstrap(values(method), clusters)),
                "difference": None
                if method == first
                else asdict(paired_difference(values(method), values(first), clusters)),
            }
            for method in scores
        },
    }


def arm_cells(compared: Mapping[str, Any], method: str) -> tuple[Interval, Interval | None]:
    found = compared["arms"][method]
    return Interval(**found["score"]), Interval(**found["difference"]) if found["difference"] else None


def physics_iq_arms_table(
    results: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Any], config: PhysicsIQConfig
) -> Table:
    """Table 4's columns and the difference; its reported rows beside, where the protocol is the paper's."""
    from physplan_bench.physics_iq.dataset import CATEGORIES

    rows = []
    for method, result in results.items():
        found = result["categories"]
        score, difference = arm_cells(compared, method)
        cells = [found[name]["score"] if name in found else None for name in CATEGORIES]
        rows.append(Row(label=method, cells=(*cells, score, difference)))
    reported = [*reported_rows("ablation"), *reported_rows("physics-iq")] if config.comparable else []
    return Table(
        title="Physics-IQ, several methods",
        columns=(*PHYSICS_IQ_COLUMNS, Column(title="difference", digits=1)),
        rows=tuple(rows),
        note=NOTE.format(first=compared["reference"]),
        unit="Physics-IQ score",
        reported=tuple(Row(label=r.label, cells=(*r.cells, None), source=r.source) for r in reported),
    )


def phygenbench_arms_table(results: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Any]) -> Table:
    from physplan_bench.phygenbench.aggregate import DOMAINS
    from physplan_bench.phygenbench.benchmark import SIDE_COLUMNS, with_sides

    rows = []
    for method, result in results.items():
        cells = [result["domains"][d]["pca"] if d in result["domains"] else None for d in DOMAINS]
        sides = (result["pca_closed"], result["pca_open"])
        rows.append(Row(label=method, cells=(*cells, *arm_cells(compared, method), *sides)))
    return Table(
        title="PhyGenBench, PCA of several methods",
        columns=(*PHYGENBENCH_COLUMNS, Column(title="difference"), *SIDE_COLUMNS),
        rows=tuple(rows),
        note=NOTE.format(first=compared["reference"]),
        unit="PCA",
        reported=with_sides([replace(row, cells=(*row.cells, None)) for row in reported_rows("phygenbench")]),
    )
