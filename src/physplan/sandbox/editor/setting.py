"""The first frame as the editor sees it: outlines, depths, and the table they stand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from physplan.sandbox.editor.cutout import Pose

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, mask: Mask) -> Box:
        rows, columns = np.nonzero(mask)
        return cls(left=columns.min(), top=rows.min(), right=columns.max() + 1.0, bottom=rows.max() + 1.0)

    @property
    def x(self) -> float:
        return 0.5 * (self.left + self.right)

    @property
    def y(self) -> float:
        return 0.5 * (self.top + self.bottom)

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def posed(self, pose: Pose) -> Box:
        corners = [pose.apply(x, y) for x in (self.left, self.right) for y in (self.top, self.bottom)]
        xs, ys = zip(*corners, strict=True)
        return Box(left=min(xs), top=min(ys), right=max(xs), bottom=max(ys))


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The first frame as the editor sees it: outlines, depths, and how large a world unit is."""

    boxes: Mapping[str, Box]
    near: Mapping[str, float]
    categories: Mapping[str, str]
    unit: float
    height: int
    horizon: int
    table_rows: NDArray[np.float32]  # the table's depth in each row from the horizon on

    @classmethod
    def of(
        cls, masks: Mapping[str, Mask], depth: NDArray[np.float32], categories: Mapping[str, str]
    ) -> Setting:
        tables = [mask for id, mask in masks.items() if categories[id] == "table"]
        height = depth.shape[0]
        horizon = height if not tables else int(np.argmax(tables[0].mean(1) > 0.02))
        rows = [
            float(np.median(depth[row][tables[0][row]])) if tables and tables[0][row].any() else np.nan
            for row in range(horizon, height)
        ]
        return cls(
            boxes={id: Box.of(mask) for id, mask in masks.items()},
            near={id: float(np.median(depth[mask])) for id, mask in masks.items()},
            categories=categories,
            unit=height / 96,
            height=height,
            horizon=horizon,
            table_rows=np.asarray(rows, dtype=np.float32),
        )

    def table_row(self, near: float) -> float:
        """The picture row on which a thing of this depth stands."""
        if not self.table_rows.size or np.isnan(self.table_rows).all():
            return 0.85 * self.height
        return float(self.horizon + np.nanargmin(np.abs(self.table_rows - near)) + 1)

    def known(self, *ids: str) -> bool:
        return all(id in self.boxes for id in ids)
