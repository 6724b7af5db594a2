"""Six small plans with a first frame and a keyframe each: one for every thing a term can do to an object."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from physplan.graph import (
    Consume,
    Edge,
    EventChain,
    GraphEdit,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
)
from physplan.perception import Evidence
from physplan_testing.pictures import box, disc, evidence_of, paint

SIZE = (48, 64)
RED, BLUE, TEAL = (0.85, 0.2, 0.15), (0.1, 0.25, 0.9), (0.1, 0.75, 0.6)
WOOD, WHITE, DARK = (0.5, 0.32, 0.15), (0.93, 0.93, 0.97), (0.12, 0.12, 0.14)


@dataclass(frozen=True, kw_only=True)
class Story:
    name: str
    chain: EventChain
    evidence: Evidence

    @property
    def start(self) -> Tensor:
        return self.evidence.first.image

    @property
    def target(self) -> Tensor:
        return self.evidence.keyframes[0].image


def stories() -> tuple[Story, ...]:
    return (moving(), growing(), appearing(), disappearing(), changing(), coming_forward())


def moving() -> Story:
    """A ball comes to rest against the crate."""
    there, here = disc(SIZE, 14, 20, 7), disc(SIZE, 40, 20, 7)
    crate = box(SIZE, 48, 10, 60, 40)
    return _story(
        "a ball moves (position)",
        [Node("ball#1", "ball"), Node("crate#2", "crate")],
        [Link("ball#1", "contact", "crate#2")],
        StateChange("ball#1", "touching the crate", "it rolls"),
        first={"ball#1": (there, RED), "crate#2": (crate, DARK)},
        keyframe={"ball#1": (here, RED), "crate#2": (crate, DARK)},
    )


def growing() -> Story:
    small, large = disc(SIZE, 32, 24, 6), disc(SIZE, 32, 24, 16)
    return _story(
        "a balloon grows (extent)",
        [Node("balloon#1", "balloon")],
        [Update("balloon#1", "extent", "inflated")],
        StateChange("balloon#1", "inflated", "air is blown in"),
        first={"balloon#1": (small, TEAL)},
        keyframe={"balloon#1": (large, TEAL)},
    )


def appearing() -> Story:
    cloud, puddle = box(SIZE, 20, 4, 44, 14), box(SIZE, 16, 34, 48, 42)
    return _story(
        "a puddle appears (count)",
        [Node("cloud#1", "cloud")],
        [Spawn("puddle#2", "cloud#1", "puddle", {})],
        StateChange("cloud#1", "raining", "rain gathers", NewObject("puddle#2", "cloud#1")),
        first={"cloud#1": (cloud, WHITE)},
        keyframe={"cloud#1": (cloud, WHITE), "puddle#2": (puddle, BLUE)},
    )


def disappearing() -> Story:
    drop, tray = disc(SIZE, 32, 16, 8), box(SIZE, 8, 34, 56, 44)
    return _story(
        "a drop disappears (count)",
        [Node("drop#1", "drop"), Node("tray#2", "tray")],
        [Consume("drop#1")],
        StateChange("drop#1", "gone", "it evaporates"),
        first={"drop#1": (drop, BLUE), "tray#2": (tray, WOOD)},
        keyframe={"tray#2": (tray, WOOD)},
    )


def changing() -> Story:
    log = box(SIZE, 12, 18, 52, 32)
    charred = (0.3, 0.24, 0.2)
    return _story(
        "a log chars (appearance)",
        [Node("log#1", "log")],
        [Update("log#1", "surface", "charred")],
        StateChange("log#1", "charred", "it burns"),
        first={"log#1": (log, WOOD)},
        keyframe={"log#1": (log, charred)},
    )


def coming_forward() -> Story:
    """Lower on the floor is nearer: the cup is pulled in front of the block."""
    behind, before, block = disc(SIZE, 18, 13, 7), disc(SIZE, 20, 36, 7), box(SIZE, 38, 16, 54, 32)
    return _story(
        "a cup comes forward (depth)",
        [Node("cup#1", "cup"), Node("block#2", "block")],
        [Unlink("block#2", "in front of", "cup#1"), Link("cup#1", "in front of", "block#2")],
        StateChange("cup#1", "in front", "it is pulled forward"),
        first={"cup#1": (behind, RED), "block#2": (block, TEAL)},
        keyframe={"cup#1": (before, RED), "block#2": (block, TEAL)},
        edges=[Edge("block#2", "in front of", "cup#1")],
    )


Layers = dict[str, tuple[Tensor, tuple[float, float, float]]]


def _story(
    name: str,
    nodes: list[Node],
    edits: list[GraphEdit],
    change: StateChange,
    *,
    first: Layers,
    keyframe: Layers,
    edges: list[Edge] | None = None,
) -> Story:
    named = {node for edit in edits for node in edit.targets()}
    others = [StateChange(node, change.state, change.rule) for node in sorted(named)]
    made = {edit.id for edit in edits if isinstance(edit, Spawn)}
    changes = [change, *(other for other in others if other.object not in made | {change.object})]
    chain = EventChain.build(
        prompt=name,
        num_frames=17,
        graph=StateGraph(nodes, edges or []),
        deltas=[PhysicalDelta(tuple(changes), 0.9)],
        edits=[edits],
    )
    pictures = [
        (paint(SIZE, *layers.values()), {node: mask for node, (mask, _) in layers.items()})
        for layers in (first, keyframe)
    ]
    return Story(name=name, chain=chain, evidence=evidence_of(chain, *pictures))
