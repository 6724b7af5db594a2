"""What rows share: plan, keyframes, evidence and sketch of one picture and sentence are made once.

The rows of a group differ in what decides later stages alone (seed, method, sampling steps).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from filelock import FileLock

from physplan.runs import RunFolder, layout

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.run import Run
    from physplan_bench.batch.rows import Row

FOLDER = "shared"
STAGES: tuple[layout.StageName, ...] = ("plan", "keyframes", "evidence", "sketch")


class Grouped(Protocol):
    """A row as the grouping sees it: `group` is empty where nothing is shared."""

    @property
    def group(self) -> str: ...

    @property
    def model_key(self) -> str: ...


T = TypeVar("T", bound=Grouped)


def group_of(run: Run) -> str:
    """The same for rows whose shared stages come out equal; empty for a method without a plan."""
    from physplan.pipeline.stage_keys import deciding_settings, digest

    if not run.method.follows_plan:
        return ""
    return digest(deciding_settings(run.config, run.inputs, STAGES[-1]))[:16]


def shared_groups(jobs: Sequence[Grouped]) -> frozenset[str]:
    """The groups of more than one row."""
    counts = Counter(job.group for job in jobs if job.group)
    return frozenset(group for group, count in counts.items() if count > 1)


def in_order(jobs: Sequence[T]) -> list[T]:
    """Rows of the same models beside each other, and of each group one first: so no worker waits for a plan
    that another makes while there is something else to do."""
    models = list(dict.fromkeys(job.model_key for job in jobs))
    begun: set[str] = set()
    ranked: list[tuple[int, bool, T]] = []
    for job in sorted(jobs, key=lambda one: models.index(one.model_key)):
        ranked.append((models.index(job.model_key), job.group in begun, job))
        begun |= {job.group} if job.group else set()
    return [job for _, _, job in sorted(ranked, key=lambda entry: entry[:2])]


def shared_stages(pp: PhysPlan, row: Row, group: str, root: Path, rows: Sequence[Path]) -> tuple[Path, float]:
    """The run folder that a row takes its first stages over from, and the seconds that making them took here.

    `rows` are the run folders of the group: one that has a plan, made before the rows were grouped, serves.
    """
    folder = root / FOLDER / group
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        started = time.monotonic()
        before = next((made for made in rows if RunFolder(made).record(STAGES[0]) is not None), None)
        given: dict[str, Any] = {"plan": row.plan, "method": row.method, "reuse": before}
        pp.sketch(row.image, row.prompt, **given, output_dir=folder, redo=True)
        return folder, time.monotonic() - started
