"""The Quality Score: seven dimensions, each between its lowest and highest value, weighted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean


@dataclass(frozen=True, kw_only=True)
class Dimension:
    title: str
    lowest: float
    highest: float
    weight: float


DIMENSIONS = {
    "subject_consistency": Dimension(title="SC", lowest=0.1462, highest=1.0, weight=1.0),
    "background_consistency": Dimension(title="BC", lowest=0.2615, highest=1.0, weight=1.0),
    "temporal_flickering": Dimension(title="TF", lowest=0.6293, highest=1.0, weight=1.0),
    "motion_smoothness": Dimension(title="MS", lowest=0.706, highest=0.9975, weight=1.0),
    "dynamic_degree": Dimension(title="DD", lowest=0.0, highest=1.0, weight=0.5),
    "aesthetic_quality": Dimension(title="AQ", lowest=0.0, highest=1.0, weight=1.0),
    "imaging_quality": Dimension(title="IQ", lowest=0.0, highest=1.0, weight=1.0),
}


def quality_score(values: Mapping[str, float]) -> float:
    """sum of w (x - min) / (max - min), over the sum of the weights; values and score in [0, 1]."""
    missing = [name for name in DIMENSIONS if name not in values]
    if missing:
        raise PhysPlanError(f"The Quality Score needs all seven dimensions; missing: {', '.join(missing)}.")
    total = sum(
        dimension.weight * (values[name] - dimension.lowest) / (dimension.highest - dimension.lowest)
        for name, dimension in DIMENSIONS.items()
    )
    return total / sum(dimension.weight for dimension in DIMENSIONS.values())


def read_results(path: Path) -> dict[str, float]:
    """The dimensions in an official result file, `{"<dimension>": [value, per-video results], ...}`.

    Plain numbers are taken too; dimensions beyond the seven are left out.
    """
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PhysPlanError(f"{path} cannot be read as a VBench result file ({error}).") from error
    if not isinstance(content, Mapping):
        raise PhysPlanError(f"{path} is not an object of dimensions, as VBench writes it.")
    values = {}
    for key, entry in content.items():
        name = str(key).strip().lower().replace(" ", "_")
        if name not in DIMENSIONS:
            continue
        value = entry[0] if isinstance(entry, list) and entry else entry
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise PhysPlanError(f"{path}: {key} is {value!r}, not a number from 0 to 1.")
        values[name] = float(value)
    if not values:
        raise PhysPlanError(f"{path} holds none of the seven quality dimensions.")
    return values


def check_dimension(name: str) -> str:
    if name not in DIMENSIONS:
        raise PhysPlanError(f"There is no quality dimension {name!r}. {did_you_mean(name, DIMENSIONS)}")
    return name
