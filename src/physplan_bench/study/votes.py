"""Votes read back, from the server's database and from files that the static page saved, as plain rows."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import plain, read_file
from physplan.graph.errors import GraphError
from physplan.graph.parsing import parse_json
from physplan.runs.records import LIMITS
from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import VOTES, Study


@dataclass(frozen=True, kw_only=True)
class Rater:
    """One participant: the answers of each trial, in order."""

    name: str
    place: int
    answers: Sequence[dict[str, str]]  # criterion -> "a" or "b"
    seconds: Sequence[float]  # of each trial
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Vote:
    rater: str
    pair: int
    criterion: str
    first: bool  # the pair's first method was chosen
    left: bool  # Video A was chosen


def read_votes(study: Study, folder: Path, files: Iterable[Path] = ()) -> list[Rater]:
    """Everybody who answered at least one trial."""
    raters = _from_database(study, folder / VOTES) if (folder / VOTES).exists() else []
    raters += [_from_file(study, path) for path in files]
    names = [rater.name for rater in raters]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PhysPlanError(f"The votes of participant {twice} are given twice: leave one of them out.")
    return [rater for rater in raters if rater.answers]


def counted(study: Study, raters: Iterable[Rater]) -> Iterator[Vote]:
    """One vote per answer; attention checks are no votes."""
    for rater in raters:
        for trial, answer in zip(study.hands[rater.place], rater.answers, strict=False):
            if trial.kind == "pair":
                for criterion, choice in answer.items():
                    left = choice == "a"
                    yield Vote(
                        rater=rater.name,
                        pair=trial.index,
                        criterion=criterion,
                        first=left != trial.flipped,
                        left=left,
                    )


def passed(study: Study, rater: Rater) -> bool:
    """At most one of the answers to all attention checks chose the damaged video."""
    wrong = [
        (choice == "a") == trial.flipped
        for trial, answer in zip(study.hands[rater.place], rater.answers, strict=False)
        if trial.kind == "check"
        for choice in answer.values()
    ]
    return sum(wrong) <= 1


def _from_database(study: Study, path: Path) -> list[Rater]:
    try:
        with sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True, timeout=30) as database:
            about = database.execute("SELECT value FROM about WHERE name = 'study'").fetchone()
            people = database.execute(
                "SELECT token, place, code FROM participants ORDER BY joined, token"
            ).fetchall()
            rows = database.execute(
                "SELECT token, trial, criterion, choice, seconds FROM votes ORDER BY token, trial"
            ).fetchall()
    except sqlite3.Error as error:
        raise PhysPlanError(f"{path} cannot be read as the study's votes ({error}).") from None
    if about != (study.id,):
        raise PhysPlanError(f"{path} holds the votes of another study.")
    found: dict[str, dict[int, tuple[dict[str, str], float]]] = {}
    for token, trial, criterion, choice, seconds in rows:
        found.setdefault(token, {}).setdefault(trial, ({}, seconds))[0][criterion] = choice
    return [
        _rater(
            study, path, token, place, [found.get(token, {})[i] for i in sorted(found.get(token, {}))], code
        )
        for token, place, code in people
    ]


def _from_file(study: Study, path: Path) -> Rater:
    try:
        content: Any = parse_json(read_file(path, limit=5_000_000), LIMITS)
        if content["study_votes"] != 1 or content["study"] != study.id:
            raise PhysPlanError(f"{path} holds the votes of another study.")
        token = plain(str(content["participant"]))[:64]
        answers = [(dict(vote["choices"]), float(vote["seconds"])) for vote in content["votes"]]
        code = token[-8:].upper() if study.codes else ""
        return _rater(study, path, token, content["place"], answers, code)
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}).") from None
    except (GraphError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PhysPlanError(f"{path} is not a file of votes saved by the page ({error!r}).") from None


def _rater(
    study: Study,
    path: Path,
    token: str,
    place: Any,
    answers: Sequence[tuple[dict[str, str], float]],
    code: str | None,
) -> Rater:
    if type(place) is not int or not 0 <= place < len(study.hands):
        raise PhysPlanError(f"{path}: the study has no place {place!r}.")
    if len(answers) > len(study.hands[place]):
        raise PhysPlanError(f"{path}: {len(answers)} answers to {len(study.hands[place])} pairs.")
    for answer, seconds in answers:
        if set(answer) != set(KEYS) or not set(answer.values()) <= {"a", "b"} or not math.isfinite(seconds):
            raise PhysPlanError(f"{path}: {answer!r} is not an answer to {', '.join(KEYS)}.")
    return Rater(
        name=token,
        place=place,
        answers=[answer for answer, _ in answers],
        seconds=[seconds for _, seconds in answers],
        code=code or "",
    )
