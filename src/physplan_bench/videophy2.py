"""VideoPhy-2: semantic adherence (SA), physical commonsense (PC) and the joint share, all and hard subset.

Scores are AutoEval's own files, one CSV per task with the columns caption, videopath and score (1 to 5; 0
where its answer was not read), or a judge's (`videophy2_judge.py`). Joint is the share of videos with SA >= 4
and PC >= 4. The hard subset is a 0 or 1 column of the prompts' CSV.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import Interval, percentage
from physplan_bench.provenance import provenance
from physplan_bench.records import Record, plain_records
from physplan_bench.tables import Table, read_rows, rows_of, titled

HIGH_SCORE, UNREAD = 4.0, 0.0
TRUE, FALSE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}


def read_scores(path: Path) -> dict[str, tuple[str, float]]:
    """Video -> caption and score of one task."""
    found: dict[str, tuple[str, float]] = {}
    for number, row in enumerate(read_rows(path, {"caption", "videopath", "score"}), start=2):
        try:
            score = float(row["score"])
        except ValueError:
            score = math.nan
        if not (score == UNREAD or 1 <= score <= 5):
            raise PhysPlanError(f"{path}, row {number}: the score is {row['score']!r}, not 1 to 5 (or 0).")
        name = PurePosixPath(row["videopath"].replace("\\", "/")).name
        if name in found:
            raise PhysPlanError(f"{path}, row {number}: {name} is scored twice.")
        found[name] = row["caption"], score
    return found


def read_hard(path: Path, column: str = "is_hard") -> dict[str, bool]:
    """Caption -> whether it is in the hard subset."""
    found = {}
    for number, row in enumerate(read_rows(path, {"caption", column}), start=2):
        text = row[column].strip().lower()
        if text not in TRUE | FALSE:
            raise PhysPlanError(f"{path}, row {number}: {column} is {row[column]!r}, not 0 or 1.")
        found[row["caption"].strip()] = text in TRUE
    return found


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One video, 1 to 5 on both tasks; 0 where a judge gave no number, as in the official code."""

    name: str
    caption: str
    sa: float
    pc: float
    path: str = ""


def read_pairs(sa: Path, pc: Path) -> list[Scored]:
    adherence, commonsense = read_scores(sa), read_scores(pc)
    if different := sorted(set(adherence) ^ set(commonsense)):
        raise PhysPlanError(f"{sa} and {pc} do not score the same videos: {different[0]} is in one only.")
    return [
        Scored(name=name, caption=caption, sa=first, pc=commonsense[name][1])
        for name, (caption, first) in adherence.items()
    ]


def joint_records(scored: Sequence[Scored], hard: Mapping[str, bool] | None, label: str) -> list[Record]:
    """A record per video; its score is 100 where both are high."""
    return [_record(one, hard, label) for one in scored]


def _record(one: Scored, hard: Mapping[str, bool] | None, label: str) -> Record:
    if hard is not None and one.caption.strip() not in hard:
        raise PhysPlanError(f"The prompts' file has no caption {one.caption[:80]!r}.")
    good = one.sa >= HIGH_SCORE and one.pc >= HIGH_SCORE
    values: dict[str, Any] = {"sa": one.sa, "pc": one.pc}
    values |= {"hard": hard[one.caption.strip()]} if hard is not None else {}
    failure = "" if good else "semantic adherence" if one.sa < HIGH_SCORE else "physical commonsense"
    return Record(
        scene=one.name,
        method=label,
        score=100.0 * good,
        good=good,
        cluster=one.caption,
        failure=failure,
        prompt=one.caption,
        video=one.path,
        values=values,
    )


def summarise(records: Sequence[Record], *, judge: str = "as recorded") -> dict[str, Any]:
    parts = {"all": list(records)}
    if any("hard" in record.values for record in records):
        parts["hard"] = [record for record in records if record.values["hard"]]
    unread = sum(record.values[task] == UNREAD for record in records for task in ("sa", "pc"))
    lost = f"{unread} answers held no number from 1 to 5 and count as 0, as in the official code."
    return {
        "benchmark": "videophy2",
        "warnings": [lost] if unread else [],
        "provenance": provenance(protocol="videophy2", judge=judge, settings={"high": HIGH_SCORE}),
        "parts": {name: figures(part) for name, part in parts.items() if part},
        "records": plain_records(records),
    }


def figures(records: Sequence[Record]) -> dict[str, Any]:
    """Shares in per cent with intervals over captions, and mean scores."""
    clusters = [record.group for record in records]
    sa, pc = (np.array([float(r.values[name] or 0) for r in records]) for name in ("sa", "pc"))

    share = partial(percentage, clusters=clusters)
    return {
        "videos": len(records),
        "sa": share(sa >= HIGH_SCORE),
        "pc": share(pc >= HIGH_SCORE),
        "joint": share((sa >= HIGH_SCORE) & (pc >= HIGH_SCORE)),
        "mean_sa": float(sa.mean()),
        "mean_pc": float(pc.mean()),
    }


def table(result: Mapping[str, Any], label: str) -> Table:
    shares = ("sa", "pc", "joint")
    titles = ("SA >= 4 %", "PC >= 4 %", "Joint %", "SA", "PC", "Videos")
    return Table(
        title="VideoPhy-2",
        columns=titled(*titles, digits=1),
        rows=rows_of(
            {
                f"{label}, {name}": (
                    *(Interval(**part[key]) for key in shares),
                    *(part["mean_sa"], part["mean_pc"], part["videos"]),
                )
                for name, part in result["parts"].items()
            }
        ),
        note="Joint: SA and PC of 4 or 5. 95 % intervals over captions.",
        unit="per cent",
    )
