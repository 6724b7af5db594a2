"""Small scenes with known masks: a plan and its evidence without any network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from physplan.graph import (
    Edge,
    EventChain,
    GraphEdit,
    Motion,
    Node,
    PhysicalDelta,
    StateChange,
    StateGraph,
)
from physplan.perception import Evidence, KeyframeEvidence

SIZE = 64
FRAMES = 17
COLOURS = {"ball": (0.9, 0.1, 0.1), "post": (0.1, 0.6, 0.2), "pool": (0.2, 0.3, 0.9), "vase": (0.8, 0.7, 0.1)}
Box = tuple[int, int, int, int]  # left, top, right, bottom


def background() -> Tensor:
    """A ramp from left to right with a darker ground: fills and shifts can be told from it."""
    across = torch.linspace(0.4, 0.7, SIZE).expand(SIZE, SIZE)
    picture = torch.stack([across, across * 0.95, across * 0.9])
    picture[:, 44:] *= 0.7
    return picture


def mask_of(place: Box) -> Tensor:
    left, top, right, bottom = place
    mask = torch.zeros(SIZE, SIZE, dtype=torch.bool)
    mask[top:bottom, left:right] = True
    return mask


def seen(
    places: Mapping[str, Box], nearness: Mapping[str, float], colours: Mapping[str, Sequence[float]] = COLOURS
) -> KeyframeEvidence:
    """The boxes painted from far to near; a mask is what is left to be seen of each."""
    picture, depth = background(), torch.zeros(SIZE, SIZE)
    masks: dict[str, Tensor] = {}
    for id in sorted(places, key=lambda id: nearness[id]):
        mask = mask_of(places[id])
        picture[:, mask] = torch.tensor(colours[id.split("#")[0]])[:, None]
        depth[mask] = nearness[id]
        masks = {other: found & ~mask for other, found in masks.items()} | {id: mask}
    return KeyframeEvidence(image=picture, masks=masks, depth=depth)


def chain_of(
    nodes: Sequence[str],
    *events: tuple[Sequence[str], Sequence[GraphEdit], Sequence[Motion]],
    edges: Sequence[Edge] = (),
    fraction: float | None = None,
) -> EventChain:
    share = fraction or 0.75 / len(events)
    deltas = [
        PhysicalDelta(tuple(StateChange(id, "is so", "a rule") for id in changed), share)
        for changed, _, _ in events
    ]
    return EventChain.build(
        prompt="it happens",
        num_frames=FRAMES,
        graph=StateGraph([Node(id, id.split("#")[0]) for id in nodes], edges),
        deltas=deltas,
        edits=[edits for _, edits, _ in events],
        motions=[motions for _, _, motions in events],
    )


def evidence(first: KeyframeEvidence, *keyframes: KeyframeEvidence) -> Evidence:
    return Evidence(first=first, keyframes=keyframes)


def centre(frame: Tensor, colour: Sequence[float], tolerance: float = 0.25) -> tuple[float, float]:
    """Where a colour is in a frame [3, H, W]: (x, y) of the middle of its pixels."""
    near = (frame - torch.tensor(colour)[:, None, None]).abs().amax(0) < tolerance
    rows, columns = torch.nonzero(near, as_tuple=True)
    return float(columns.float().mean()) + 0.5, float(rows.float().mean()) + 0.5


def area(frame: Tensor, colour: Sequence[float], tolerance: float = 0.25) -> int:
    return int(((frame - torch.tensor(colour)[:, None, None]).abs().amax(0) < tolerance).sum())
