"""Several runs of one model: mean and standard deviation, as the Verified leaderboard prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from physplan_bench.physics_iq.metrics import NAMES
from physplan_bench.tables import Table, rows_of, titled

RUNS_FOR_A_CLAIM = 4
SUBSCORES = ("spatial", "weighted_spatial", "spatiotemporal", "mse")


def combine_runs(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Name of a run -> its result: score and Verified sub-scores as mean and sample deviation."""
    scores = [result["unclipped_score"] for result in results.values()]
    subscores = {name: [100 * result["verified"][name] for result in results.values()] for name in NAMES}
    warnings = list(dict.fromkeys(text for result in results.values() for text in result["warnings"]))
    if len(results) < RUNS_FOR_A_CLAIM:
        warnings.append(
            f"{len(results)} of {RUNS_FOR_A_CLAIM} runs: the Verified leaderboard asks for four to claim "
            "a place."
        )
    first = next(iter(results.values()))
    return {
        "benchmark": first["benchmark"],
        "provenance": first["provenance"],
        "score": summarise(scores),
        "verified": {name: summarise(values) for name, values in subscores.items()},
        "warnings": warnings,
        "runs": dict(results),
    }


def summarise(values: list[float]) -> dict[str, float | None]:
    """The deviation is the sample's (n - 1); one run has none."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": deviation}


def runs_table(result: Mapping[str, Any], label: str) -> Table:
    """A row per run, then their mean and deviation."""
    titles = ("score", *(name.replace("_", " ") for name in SUBSCORES))
    rows = {
        name: (run["unclipped_score"], *(100 * run["verified"][part] for part in SUBSCORES))
        for name, run in result["runs"].items()
    }
    for which in ("mean", "std"):
        cells = (result["score"][which], *(result["verified"][part][which] for part in SUBSCORES))
        rows[f"{label}, {which}"] = cells
    return Table(
        title="Physics-IQ, several runs",
        columns=titled(*titles, digits=1),
        rows=rows_of(rows),
        note="std: the sample's standard deviation over runs. Sub-scores are Verified's, in percent.",
        unit="Physics-IQ score",
    )
