"""Statistics of the checks over many plans, as in the paper's failure analysis (appendix C)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.graph import CHECKS, GraphError, Limits, parse_json

ALL_ATTEMPTS = 4  # the first, and the three retries of appendix A.2


@dataclass(kw_only=True)
class CheckStatistics:
    """Over edit sets: how many were accepted at first, after retries, never; and the violations per check."""

    plans: int = 0
    first: int = 0
    retried: int = 0
    rejected: int = 0
    malformed: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    @property
    def edit_sets(self) -> int:
        return self.first + self.retried + self.rejected

    def add(self, checks: Iterable[Mapping[str, Any]]) -> None:
        """The attempts of one plan, as its provenance records them."""
        groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for attempt in checks:
            groups.setdefault((attempt["event"], attempt["generation"]), []).append(attempt)
        for (event, generation), attempts in groups.items():
            for attempt in attempts:
                self.violations.update(violation["check"] for violation in attempt["violations"])
                self.malformed += "malformed" in attempt
            if not attempts[-1]["violations"] and "malformed" not in attempts[-1]:
                self.first += len(attempts) == 1
                self.retried += len(attempts) > 1
            elif len(attempts) >= ALL_ATTEMPTS or (event, generation + 1) in groups:
                self.rejected += 1
            # else: planning was stopped between two attempts, which says nothing about the edit set

    def table(self) -> list[tuple[str, str]]:
        """The rows of the paper's table, in percent; shares of nothing are left open."""
        found = sum(self.violations.values())
        return [
            ("Pass at first attempt", _percent(self.first, self.edit_sets)),
            ("Pass after retries", _percent(self.first + self.retried, self.edit_sets)),
            ("Rejected after all retries", _percent(self.rejected, self.edit_sets)),
            *((f"Violations: {name}", _percent(self.violations[name], found)) for name in CHECKS),
        ]


def statistics(folder: str | os.PathLike[str]) -> CheckStatistics:
    """Every plan under `folder`, finished or not. Other JSON files are no plans; broken ones are named."""
    folder = Path(folder)
    if not folder.is_dir():
        raise PhysPlanError(f"{folder} is not a folder: give the folder that holds the plans.")
    result = CheckStatistics()
    for path in sorted(folder.rglob("*.json")):
        if path.name.startswith("."):
            continue  # a write that was cut off
        try:
            value = parse_json(read_file(path, limit=Limits.FILE.max_bytes), Limits.FILE)
            if not (isinstance(value, dict) and "events" in value and "provenance" in value):
                continue
            checks = value["provenance"].get("checks", [])
            CheckStatistics().add(checks)  # a broken plan must not be counted by half
            result.add(checks)
            result.plans += 1
        except (OSError, PhysPlanError, GraphError, KeyError, TypeError, AttributeError):
            result.skipped.append(str(path))
    if not result.plans:
        raise PhysPlanError(
            f"There are no plans in {folder}: make some with physplan plan -o {folder}/NAME.json."
        )
    return result


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else "-"
