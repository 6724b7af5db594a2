"""Human labels of videos: a CSV with the columns scene, label and, where needed, method and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.records import Record
from physplan_bench.tables import read_rows

LabelKey = tuple[str, str, int | None]  # method or "", scene, seed or None


def read_labels(path: Path) -> dict[LabelKey, float]:
    """Several people's labels of one video are averaged."""
    rows = read_rows(path, ("scene", "label"), "labels")
    found: dict[LabelKey, list[float]] = {}
    for number, row in enumerate(rows, start=2):
        try:
            seed = int(row["seed"]) if row.get("seed") else None
            value = float(row["label"])
        except (TypeError, ValueError):
            raise PhysPlanError(f"{path}, row {number}: label and seed must be numbers.") from None
        if not np.isfinite(value):
            raise PhysPlanError(f"{path}, row {number}: the label is no finite number.")
        found.setdefault((row.get("method") or "", row["scene"] or "", seed), []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def match(labels: Mapping[LabelKey, float], records: Sequence[Record]) -> dict[int, float]:
    """Index of a record -> its label. A label without method or seed holds for all of them."""
    found: dict[int, float] = {}
    for index, record in enumerate(records):
        for method in (record.method, ""):
            for seed in (record.seed, None):
                if (value := labels.get((method, record.scene, seed))) is not None:
                    found.setdefault(index, value)
    if not found:
        raise PhysPlanError("No label names a scene of the result: use the names in its cases.csv.")
    return found
