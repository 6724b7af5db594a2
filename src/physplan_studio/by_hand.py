"""The plan that a person begins with: what was clicked, and one event that is there to be changed."""

from __future__ import annotations

from collections.abc import Sequence

from physplan.graph import EventChain, PhysicalDelta, StateChange, Update
from physplan.graph.motion import Motion
from physplan.pipeline.config_loading import load_config
from physplan_photo.graph.layout import Mask
from physplan_photo.graph.relations import Seen, photo_graph

HAND_SHIFT = 0.15  # heights of the frame
HAND_FRACTION = 0.9


def first_plan(masks: Sequence[tuple[str, Mask]], name: str, prompt: str) -> EventChain:
    """`masks` are names with masks [H, W]; the object called `name` moves."""
    graph, _ = photo_graph([Seen(name, mask) for name, mask in masks])
    id = next(node.id for node in graph.nodes if node.category == name)
    delta = PhysicalDelta((StateChange(id, "moved", "moved by hand"),), HAND_FRACTION)
    return EventChain.build(
        prompt=prompt.strip() or f"the {name} moves",
        num_frames=load_config("photo").video.num_frames or 49,
        graph=graph,
        deltas=[delta],
        edits=[[Update(id, "configuration", "moved")]],
        motions=[[Motion(id, "linear", (("dx", HAND_SHIFT), ("dy", 0.0)))]],
        provenance={"by": "hand"},
    )
