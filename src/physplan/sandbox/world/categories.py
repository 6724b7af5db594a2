"""Every kind of thing that a picture of the world can show: the segmenter's classes, in a fixed order.

The order is part of the trained weights: add new categories at the end, never in between.
"""

from __future__ import annotations

CATEGORIES: tuple[str, ...] = (
    "wall",
    "table",
    "ball",
    "crate",
    "block",
    "book",
    "domino",
    "shelf",
    "stopper",
    "tap",
    "glass",
    "stream",
    "water",
    "puddle",
    "dropper",
    "drop",
    "paper",
    "blot",
    "lamp",
    "vase",
    "beam",
    "pane",
    "sun",
    "post",
    "shadow",
    "magnet",
    "nail",
    "peg",
    "ice",
    "tray",
    "cloth",
    "candle",
    "flame",
    "smoke",
    "jar",
    "cup",
    "bottle",
    "plant",
    "apple",
)
