"""Where the objects of the first frame are, as boxes, from the run's evidence. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan.runs import layout


def boxes(folder: Path) -> dict[str, list[float]]:
    """Object -> left, top, width, height as shares of the picture; what was not found is left out."""
    from safetensors import SafetensorError, safe_open

    try:
        path = inside(folder, layout.EVIDENCE)
        if not path.is_file():
            return {}
        with safe_open(path, framework="np") as file:
            frames: Any = json.loads((file.metadata() or {})["frames"])
            nodes = frames[0]["nodes"]
            masks = file.get_tensor("0.masks") if nodes else []
        return {str(node): _box(mask) for node, mask in zip(nodes, masks, strict=True) if mask.any()}
    except (OSError, ValueError, LookupError, TypeError, SafetensorError, PhysPlanError):
        return {}  # not a file of ours, or one that is being written


def _box(mask: np.ndarray) -> list[float]:
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = columns[0], rows[0]
    return [
        round(float(value), 4)
        for value in (
            left / width,
            top / height,
            (columns[-1] + 1 - left) / width,
            (rows[-1] + 1 - top) / height,
        )
    ]
