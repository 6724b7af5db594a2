"""Geometry of the first frame for the editor: boxes, depths, beams, the table, pixels per world unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from physplan_sandbox.editor.cutout import Pose
from physplan_sandbox.parser import BARE, BEAMS, beam_slope, whole

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Beam:
    """Beam of a seesaw or a balance: slope (rows per column), hinge column, and the upper edge's
    row there."""

    slope: float
    x: float
    row: float

    @classmethod
    def of(cls, mask: Mask) -> Beam:
        rows, columns = np.nonzero(mask)
        foot = columns[rows >= rows.max() - 0.02 * mask.shape[0]]
        slope, x = beam_slope(mask), float(np.median(foot)) + 0.5
        seen = int(columns.min() + BARE[0] * (columns.max() - columns.min()))
        return cls(slope, x, float(rows[columns == seen].min()) + slope * (x - seen))


@dataclass(frozen=True, kw_only=True)
class FrameGeometry:
    """Boxes, depths and outlines by node id, in pixels."""

    boxes: Mapping[str, Box]
    near: Mapping[str, float]
    categories: Mapping[str, str]
    unit: float
    height: int
    width: int
    horizon: int
    table_rows: NDArray[np.float32]  # depth of the table per row, from the horizon down
    tops: Mapping[str, NDArray[np.int64]]  # topmost row per column of each object
    beams: Mapping[str, Beam]

    @classmethod
    def of(
        cls, masks: Mapping[str, Mask], depth: NDArray[np.float32], categories: Mapping[str, str]
    ) -> FrameGeometry:
        tables = [mask for id, mask in masks.items() if categories[id] == "table"]
        height = depth.shape[0]
        horizon = height if not tables else int(np.argmax(tables[0].mean(1) > 0.02))
        rows = [
            float(np.median(depth[row][tables[0][row]])) if tables and tables[0][row].any() else np.nan
            for row in range(horizon, height)
        ]
        return cls(
            boxes={id: Box(*whole(mask, categories[id])) for id, mask in masks.items()},
            near={id: float(np.median(depth[mask])) for id, mask in masks.items()},
            categories=categories,
            unit=height / 96,
            height=height,
            width=depth.shape[1],
            horizon=horizon,
            table_rows=np.asarray(rows, dtype=np.float32),
            tops={id: np.where(mask.any(0), mask.argmax(0), height) for id, mask in masks.items()},
            beams={id: Beam.of(mask) for id, mask in masks.items() if categories[id] in BEAMS},
        )

    def surface(self, id: str, x: float) -> float:
        """Row of an object's upper edge near column x; for a beam, without the rims at its ends."""
        if id in self.beams:
            return self.beams[id].row + self.beams[id].slope * (x - self.beams[id].x)
        near = self.tops[id][max(int(x - self.unit), 0) : int(x + self.unit) + 1]
        return float(np.median(near)) if near.size else float(self.boxes[id].top)

    def table_row(self, near: float) -> float:
        """The row on which an object of this depth stands."""
        if not self.table_rows.size or np.isnan(self.table_rows).all():
            return 0.85 * self.height
        return float(self.horizon + np.nanargmin(np.abs(self.table_rows - near)) + 1)

    def known(self, *ids: str) -> bool:
        return all(id in self.boxes for id in ids)
