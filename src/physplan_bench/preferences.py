"""People's choices between two methods beside a judge's: the votes of `physplan study` as labels.

A label is the share of a prompt's votes for the first method, in per cent. A judge's is 100 where its score
of the first method's video is higher, 50 where both are equal; seeds and scenes of one prompt are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.correction import Corrected, correct
from physplan_bench.records import Record
from physplan_bench.study.match_videos import words
from physplan_bench.tables import read_rows

COLUMNS = {"prompt", "criterion", "first", "second", "chosen"}
Pair = tuple[str, str]  # first and second method


def read_choices(path: Path, criterion: str) -> dict[Pair, dict[str, float]]:
    """Pair -> prompt -> per cent for the first, from the file of `study analyse --votes-csv`."""
    rows = read_rows(path, COLUMNS, "votes, as `study analyse --votes-csv` writes them")
    found: dict[Pair, dict[str, list[float]]] = {}
    for row in rows:
        if row["criterion"] == criterion:
            votes = found.setdefault((row["first"], row["second"]), {})
            votes.setdefault(words(row["prompt"]), []).append(100.0 * (row["chosen"] == row["first"]))
    if not found:
        known = ", ".join(sorted({row["criterion"] for row in rows}))
        raise PhysPlanError(f"{path} has no votes on {criterion!r}: it has {known}.")
    return {
        pair: {prompt: float(np.mean(shares)) for prompt, shares in votes.items()}
        for pair, votes in found.items()
    }


def judged_choices(records: Sequence[Record], pair: Pair) -> dict[str, float]:
    """Prompt -> per cent for the first, by the scores of a result."""
    scores: list[dict[tuple[str, int], Record]] = [
        {(record.scene, record.seed): record for record in records if record.method == method}
        for method in pair
    ]
    found: dict[str, list[float]] = {}
    for key, first in scores[0].items():
        if second := scores[1].get(key):
            won = 100.0 * (first.score > second.score) + 50.0 * (first.score == second.score)
            found.setdefault(words(first.prompt or first.scene), []).append(won)
    return {prompt: float(np.mean(values)) for prompt, values in found.items()}


def correct_choices(
    records: Sequence[Record], choices: Mapping[Pair, Mapping[str, float]]
) -> dict[str, Corrected]:
    """Every pair of methods that both the result and the study have."""
    methods = {record.method for record in records}
    found = {}
    for pair, said in choices.items():
        if not set(pair) <= methods:
            continue
        judged = judged_choices(records, pair)
        both = [prompt for prompt in said if prompt in judged]
        others = [value for prompt, value in judged.items() if prompt not in said]
        labels, scores = ([votes[prompt] for prompt in both] for votes in (said, judged))
        found[f"{pair[0]} over {pair[1]}"] = correct(np.array(labels), np.array(scores), np.array(others))
    if not found:
        pairs = "; ".join(" and ".join(pair) for pair in choices)
        raise PhysPlanError(
            f"The study compares {pairs}, the result has {', '.join(sorted(methods))}: name methods alike."
        )
    return found
