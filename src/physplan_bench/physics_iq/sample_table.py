"""The per-sample table of one run, in the official CSV's columns: a row per scenario, three views wide."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

VIEWS = ("perspective-left", "perspective-center", "perspective-right")
# Official column -> where our case result keeps it; lists hold a value per frame.
COLUMNS = {
    "spatiotemporal_iou_v1": ("metrics", "spatiotemporal"),
    "spatiotemporal_iou_v2": ("metrics_of_take_2", "spatiotemporal"),
    "spatial_iou_v1": ("metrics", "spatial"),
    "spatial_iou_v2": ("metrics_of_take_2", "spatial"),
    "weighted_spatial_iou_v1": ("metrics", "weighted_spatial"),
    "weighted_spatial_iou_v2": ("metrics_of_take_2", "weighted_spatial"),
    "v1_mse": ("metrics", "mse"),
    "v2_mse": ("metrics_of_take_2", "mse"),
    "variance_spatial": ("variance", "spatial"),
    "variance_weighted_spatial": ("variance", "weighted_spatial"),
    "variance_spatiotemporal_iou": ("variance", "spatiotemporal"),
    "variance_mse": ("variance", "mse"),
}


def sample_table(result: Mapping[str, Any]) -> str:
    """The CSV text of a result of `PhysicsIQ`; the official scorer reads it."""
    rows: dict[str, dict[str, Any]] = {}
    for number, video in result["videos"].items():
        row = rows.setdefault(video["scenario"], {"scenario": f"{video['scenario']}.mp4"})
        sample = result["samples"][number]
        for column, (group, name) in COLUMNS.items():
            value = sample[group][name]
            row[f"{column}_{video['view']}"] = list(value) if isinstance(value, list | tuple) else value
    text = io.StringIO(newline="")
    fields = ["scenario", *(f"{column}_{view}" for view in VIEWS for column in COLUMNS)]
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows.values())
    return text.getvalue()
