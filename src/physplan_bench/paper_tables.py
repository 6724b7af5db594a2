"""The figures printed in the paper, as data: rows that stand beside ours, marked "reported"."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml

from physplan.errors import PhysPlanError
from physplan_bench.tables import REPORTED, Column, Row, Table, titled

PHYSICS_IQ_COLUMNS = titled("S.M.", "F.D.", "Optics", "Magn.", "Thermo.", "Avg.", digits=1, best="max")
PHYGENBENCH_COLUMNS = titled("Mechanics", "Optics", "Thermal", "Material", "Avg.", best="max")
VBENCH_COLUMNS = titled("QS", "SC", "BC", "TF", "MS", "DD", "AQ", "IQ", best="max")
FRECHET_COLUMNS = titled(
    "PhyGenBench FID", "PhyGenBench FVD", "Physics-IQ FID", "Physics-IQ FVD", digits=1, best="min"
)
FAILURE_COLUMNS = titled("Reasoning", "Edits", "Keyframe", "Localization", "Guidance", digits=0)
STUDY_COLUMNS = titled("Physical plausibility", "Frame quality", "Temporal smoothness", digits=0)
CHECK_COLUMNS = titled(
    *("First attempt", "After retries", "Rejected", "Coverage", "Grounding", "Consistency", "Lineage"),
    digits=0,
)
TOTAL_COST_COLUMNS = (
    Column(title="Time (s)", digits=1, best="min"),
    Column(title="Peak memory (GB)", digits=2, best="min"),
    Column(title="API cost (USD)", best="min"),
)
STAGE_COST_COLUMNS = (*titled("Model"), *titled("Time (s)", digits=1), *titled("Peak memory (GB)"))
API_COST_COLUMNS = (
    *titled("Calls", digits=1),
    *titled("Tokens in", "Tokens out", digits=0),
    *titled("Images", digits=1),
    *titled("Cost (USD)", digits=3),
)

COLUMNS = {
    "physics-iq": PHYSICS_IQ_COLUMNS,
    "ablation": PHYSICS_IQ_COLUMNS,
    "phygenbench": PHYGENBENCH_COLUMNS,
    "vbench": VBENCH_COLUMNS,
    "frechet": FRECHET_COLUMNS,
    "failures": FAILURE_COLUMNS,
    "user-study": STUDY_COLUMNS,
    "checks": CHECK_COLUMNS,
    "cost-stages": STAGE_COST_COLUMNS,
    "cost-calls": API_COST_COLUMNS,
    "cost-total": TOTAL_COST_COLUMNS,
}
NAMES = tuple(COLUMNS)


def reported_rows(name: str) -> tuple[Row, ...]:
    rows = _printed(name)["rows"].items()
    return tuple(Row(label=label, cells=tuple(cells), source=REPORTED) for label, cells in rows)


def reported_table(name: str) -> Table:
    title = f"{_printed(name)['title']}, as printed in the paper"
    return Table(title=title, columns=COLUMNS[name], rows=reported_rows(name))


def _printed(name: str) -> dict[str, Any]:
    if name not in COLUMNS:
        raise PhysPlanError(f"The paper has no table {name!r}: use {', '.join(NAMES)}.")
    return _tables()[name]


@cache
def _tables() -> dict[str, dict[str, Any]]:
    text = resources.files(__package__).joinpath("paper_tables.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found
