"""A drawn scene with exact masks: flat colours, one per category, so that looking for a category is exact."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from scipy.ndimage import label
from torch import Tensor

from physplan.graph import (
    Consume,
    Edge,
    EventChain,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Update,
)
from physplan.perception import Instance

SIZE = (48, 64)
COLOURS = {
    "ice cube": (0.7, 0.9, 1.0),
    "tray": (0.5, 0.3, 0.1),
    "puddle": (0.1, 0.3, 0.9),
    "ball": (0.9, 0.1, 0.1),
}
Box = tuple[str, int, int, int, int]  # category, left, top, right, bottom


def draw(*boxes: Box, background: float = 0.6, size: tuple[int, int] = SIZE) -> Tensor:
    image = torch.full((3, *size), background)
    for category, left, top, right, bottom in boxes:
        image[:, top:bottom, left:right] = torch.tensor(COLOURS[category])[:, None, None]
    return image


class ColourSegmenter:
    """Every connected patch of a category's colour is an instance."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        self.asked.append(tuple(categories))
        found = []
        for category in categories:
            colour = torch.tensor(COLOURS[category])[:, None, None]
            labels, count = label(((image - colour).abs().amax(0) < 0.05).numpy())
            found += [
                Instance(category=category, mask=torch.from_numpy(labels == number), score=1.0)
                for number in range(1, count + 1)
            ]
        return tuple(found)


def row_depth(images: Tensor) -> Tensor:
    """Lower in the picture is nearer; brightness adds a little."""
    rows = torch.linspace(0, 1, images.shape[-2], device=images.device)
    return rows[:, None] + 0.01 * images.mean(1)


def melting_chain(num_frames: int = 17) -> EventChain:
    """An ice cube on a tray becomes a puddle, in two events."""
    return EventChain.build(
        prompt="an ice cube melts on a tray",
        num_frames=num_frames,
        graph=StateGraph(
            [Node("ice#1", "ice cube"), Node("tray#2", "tray")], [Edge("tray#2", "support", "ice#1")]
        ),
        deltas=[
            PhysicalDelta(
                (StateChange("ice#1", "half melted", "ice melts", NewObject("puddle#3", "ice#1")),), 0.4
            ),
            PhysicalDelta((StateChange("ice#1", "gone", "ice melts"),), 0.4),
        ],
        edits=[
            [
                Spawn("puddle#3", "ice#1", "puddle", {}),
                Link("tray#2", "support", "puddle#3"),
                Update("ice#1", "extent", "half its size"),
            ],
            [Consume("ice#1")],
        ],
        instructions=[
            "Make the ice cube smaller, with a puddle around it. Keep everything else unchanged.",
            "Replace the ice cube with a puddle. Keep everything else unchanged.",
        ],
    )


MELTING_FIRST = draw(("tray", 8, 30, 56, 40), ("ice cube", 24, 14, 40, 30))
MELTING_KEYFRAMES = (
    draw(("tray", 8, 30, 56, 40), ("ice cube", 28, 22, 36, 30), ("puddle", 20, 27, 28, 30)),
    draw(("tray", 8, 30, 56, 40), ("puddle", 16, 27, 48, 30)),
)
