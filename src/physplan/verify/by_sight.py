"""Every net edit looked for without keyframes: what the segmenter and the depth estimator see."""

from __future__ import annotations

from torch import Tensor

from physplan.graph import EventChain, StateGraph
from physplan.perception import DepthEstimator, KeyframeEvidence, Segmenter, keyframe_evidence, look
from physplan.verify.limits import Limits, answer, event_found, looked_at
from physplan.verify.relations import shown
from physplan.verify.verdict import EditFound, EventFound


def by_sight(
    chain: EventChain,
    first: KeyframeEvidence,
    frames: Tensor,
    segmenter: Segmenter,
    depth: DepthEstimator,
    limits: Limits,
) -> tuple[EventFound, ...]:
    """Without keyframes: what the segmenter and the depth estimator see in two frames of each state."""
    found = []
    for index, event in enumerate(chain.events):
        times = looked_at(chain, index, limits)
        nodes = {node.id: node for graph in chain.graphs[: index + 2] for node in graph.nodes}
        everything = StateGraph(nodes.values())
        looks = {
            t: keyframe_evidence(
                everything, look(everything, frames[t], segmenter=segmenter, depth=depth), known=first.masks
            )
            for t in sorted({times[len(times) // 2], times[-1]})
        }
        edits = []
        for edit in event.net_edits:
            values = {t: value for t, now in looks.items() if (value := shown(edit, first, now)) is not None}
            frame = max(values, key=lambda t: values[t]) if values else times[-1]
            value = sum(values.values()) / len(values) if values else None
            verdict = answer(value, limits.edit_holds, limits.edit_fails)
            edits.append(
                EditFound(edit=str(edit), objects=edit.targets(), value=value, frame=frame, verdict=verdict)
            )
        # What is not seen is not shown: it counts as little as an edit that fails.
        known = [limits.edit_fails if edit.value is None else edit.value for edit in edits]
        value = sum(known) / len(known) if known else limits.edit_fails
        found.append(event_found(index, event.anchor, value, 0.0, edits, limits))
    return tuple(found)
