"""Two people's attributions: how far they agree, what is left to discuss, and the table of shares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean
from physplan_bench.failures import STAGES
from physplan_bench.paper_tables import FAILURE_COLUMNS, reported_rows
from physplan_bench.physics_iq.dataset import CATEGORIES
from physplan_bench.tables import Row, Table


@dataclass(frozen=True, kw_only=True)
class Agreement:
    count: int
    share: float
    kappa: float  # Cohen's
    disagreements: tuple[str, ...]


def lowest_third(scores: Mapping[str, float]) -> list[str]:
    """The failed videos: a third of all, rounded down, with the lowest scores; ties by name."""
    ordered = sorted(scores, key=lambda name: (scores[name], name))
    return sorted(ordered[: len(scores) // 3])


def agreement(first: Mapping[str, str], second: Mapping[str, str]) -> Agreement:
    """Share of equal attributions, and Cohen's kappa."""
    from physplan.verify.by_judge import cohens_kappa  # which loads torch

    names = sorted(first)
    if names != sorted(second):
        different = sorted(set(first) ^ set(second))
        raise PhysPlanError(f"The two raters judged different videos, such as {different[0]}.")
    if not names:
        raise PhysPlanError("There is no rating to compare.")
    pairs = [(first[name], second[name]) for name in names]
    equal = [name for name, (one, other) in zip(names, pairs, strict=True) if one == other]
    share, kappa = len(equal) / len(names), cohens_kappa(pairs)
    return Agreement(
        count=len(names),
        share=share,
        kappa=1.0 if kappa is None else kappa,
        disagreements=tuple(n for n in names if n not in equal),
    )


def resolve(
    first: Mapping[str, str], second: Mapping[str, str], discussed: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What both said, or what they settled on after discussion; and what is still open."""
    settled = {name: stage for name, stage in first.items() if second.get(name) == stage}
    settled |= {name: stage for name, stage in discussed.items() if name in first}
    return settled, sorted(set(first) - set(settled))


def shares_table(
    attributions: Mapping[str, str], categories: Mapping[str, str], *, note: str = "", title: str = "Failures"
) -> Table:
    """Per category and overall: the share of failed videos per stage, in percent."""
    order = [c for c in CATEGORIES if c in categories.values()]
    order += sorted(set(categories.values()) - set(order))
    rows = []
    for category in (*order, None):
        members = [name for name in attributions if category is None or categories[name] == category]
        if members:
            counts = [sum(attributions[name] == stage for name in members) for stage in STAGES]
            label = f"{category or 'All'} (n = {len(members)})"
            rows.append(Row(label=label, cells=tuple(100 * count / len(members) for count in counts)))
    return Table(
        title=f"{title} (%)",
        columns=FAILURE_COLUMNS,
        rows=tuple(rows),
        label="Category",
        note=note,
        unit="% of failed videos",
        reported=reported_rows("failures"),
    )


def read_ratings(path: Path, names: Sequence[str]) -> dict[str, str]:
    """One rater's file, as the page saves it."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        ratings = {str(name): str(entry["stage"]) for name, entry in content["ratings"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PhysPlanError(f"{path} is not a file of ratings saved by the page ({error}).") from error
    for name, stage in ratings.items():
        if stage not in STAGES:
            raise PhysPlanError(f"{path}: {name} has the stage {stage!r}. {did_you_mean(stage, STAGES)}")
        if name not in names:
            raise PhysPlanError(f"{path}: {name} is not one of the failed videos of this result.")
    return ratings
