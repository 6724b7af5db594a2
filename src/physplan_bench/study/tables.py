"""The result as tables and as a picture, and every vote as a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from physplan_bench.bootstrap import Interval
from physplan_bench.paper_tables import STUDY_COLUMNS, reported_rows
from physplan_bench.study.analysis import POOLED
from physplan_bench.study.criteria import CRITERIA, KEYS
from physplan_bench.study.design import Study
from physplan_bench.study.votes import Rater, counted
from physplan_bench.tables import Table, csv_cell, rows_of, titled


def make_tables(result: Mapping[str, Any]) -> list[Table]:
    tables = [_preference_table(result)]
    if result["domains"]:
        tables.append(_domain_table(result))
    return [*tables, _score_table(result), _trust_table(result)]


def _preference_table(result: Mapping[str, Any]) -> Table:
    people = result["participants"]
    names = list(next(iter(result["preference"].values())))
    per_pair = result["votes_per_pair"]
    checks = people["passed_checks"]
    return Table(
        title=f"How often {result['methods'][0]} was preferred (%)",
        columns=STUDY_COLUMNS,
        rows=rows_of({name: [_percent(result["preference"][key][name]) for key in KEYS] for name in names}),
        label="Against",
        unit="% of votes",
        reported=reported_rows("user-study"),
        note=f"{people['counted']} participants ({people['finished']} finished"
        + (f", {checks} passed the attention checks" if checks is not None else "")
        + f"), {per_pair['min']} to {per_pair['max']} votes per pair and criterion. "
        "95 % bootstrap intervals over participants and prompts; 50 means no preference.",
    )


def _domain_table(result: Mapping[str, Any]) -> Table:
    return Table(
        title=f"How often {result['methods'][0]} was preferred, per domain (%)",
        columns=STUDY_COLUMNS,
        rows=rows_of(
            {domain: [_percent(rates[key]) for key in KEYS] for domain, rates in result["domains"].items()}
        ),
        label="Domain",
        unit="% of votes",
    )


def _score_table(result: Mapping[str, Any]) -> Table:
    return Table(
        title="Bradley-Terry scores",
        columns=titled(*(criterion.title for criterion in CRITERIA), best="max"),
        rows=rows_of(
            {
                name: [Interval(**result["bradley_terry"][key][name]) for key in KEYS]
                for name in result["methods"]
            }
        ),
        unit="log-strength, mean 0",
        note="A method with s more is chosen over another with probability 1 / (1 + exp(-s)). Half a vote "
        "each way is added, which keeps scores finite.",
    )


def _trust_table(result: Mapping[str, Any]) -> Table:
    tests: list[tuple[str, Callable[[str], Any]]] = [
        ("Krippendorff's alpha", lambda key: result["alpha"][key]),
        ("Share of Video A", lambda key: Interval(**result["position"][key])),
        ("Votes", lambda key: result["votes"][key]),
        ("Pooled: exact p against one half", lambda key: _p(result["preference"][key][POOLED])),
    ]
    return Table(
        title="How far the votes can be trusted",
        columns=titled(*(criterion.title for criterion in CRITERIA)),
        rows=rows_of({label: [cell(key) for key in KEYS] for label, cell in tests}),
        label="",
        note="Alpha: 1 is full agreement, 0 that of chance. A share of Video A away from 0.50 is a bias "
        f"towards a side. Median {result['participants']['seconds_per_pair']:.0f} s per pair.",
    )


def _p(rate: Mapping[str, Any] | None) -> str | None:
    return None if rate is None else f"{rate['p']:.2g}"


def _percent(rate: Mapping[str, Any] | None) -> Interval | None:
    if rate is None:
        return None
    return Interval(**{name: rate[name] for name in ("value", "low", "high")}).scaled(100)


def draw(result: Mapping[str, Any], path: Path, *, reported: bool = False) -> None:
    from physplan_bench.plots import bar_plot

    table = _preference_table(result)
    bar_plot(table.with_reported() if reported else table, path, line=50.0)


def votes_csv(study: Study, raters: Sequence[Rater]) -> str:
    """Every vote as a row; participants by number, without their random names."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["participant", "prompt", "domain", "criterion", "first", "second", "chosen", "side"])
    numbers = {rater.name: i for i, rater in enumerate(raters, 1)}
    for vote in counted(study, raters):
        pair = study.pairs[vote.pair]
        prompt = study.prompts[pair.prompt]
        chosen = pair.first if vote.first else pair.second
        about = [numbers[vote.rater], prompt.prompt, prompt.domain, vote.criterion]
        cells = [*about, pair.first, pair.second, chosen, "A" if vote.left else "B"]
        writer.writerow([csv_cell(cell) for cell in cells])
    return buffer.getvalue()
