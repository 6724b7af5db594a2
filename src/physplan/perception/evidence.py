"""What the guidance works from: each node's mask and a depth map, for the first frame and every keyframe.

One type per picture suffices: a node of its state is in `masks` or in `missing`; a consumed one in neither.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.assignment import assign, relation_cost, tracking_cost
from physplan.perception.protocol import DepthEstimator, Segmenter
from physplan.perception.sightings import Sighting, look
from physplan.tensors import open_tensors, save_tensors

if TYPE_CHECKING:
    from physplan.graph import EventChain, StateGraph

SCHEMA = "physplan.evidence/1"

CostOf = Callable[[Sequence[str], Sequence[Tensor], Mapping[str, Tensor]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyframeEvidence:
    """What one picture shows of one state of the graph."""

    image: Tensor  # [3, H, W] in [0, 1]
    masks: Mapping[str, Tensor]  # node id -> bool [H, W]: all its instances together
    depth: Tensor  # [H, W] in [0, 1], larger is nearer
    missing: tuple[str, ...] = ()  # nodes of the state that the segmenter did not find


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    first: KeyframeEvidence
    keyframes: tuple[KeyframeEvidence, ...]  # one per event

    @property
    def missing(self) -> tuple[str, ...]:
        """One line per node that was not found, for the report."""
        frames = [("the first frame", self.first)]
        frames += [(f"keyframe {number}", frame) for number, frame in enumerate(self.keyframes, 1)]
        return tuple(f"{node} was not found in {name}" for name, frame in frames for node in frame.missing)

    def save(self, path: str | os.PathLike[str]) -> None:
        """One safetensors file; which mask is whose is JSON in its header."""
        tensors: dict[str, Tensor] = {}
        header = []
        for number, frame in enumerate((self.first, *self.keyframes)):
            # Copies: the format refuses tensors that share memory, as an unchanged keyframe does.
            tensors[f"{number}.image"] = frame.image.clone(memory_format=torch.contiguous_format)
            tensors[f"{number}.depth"] = frame.depth.clone(memory_format=torch.contiguous_format)
            if frame.masks:
                tensors[f"{number}.masks"] = torch.stack(tuple(frame.masks.values()))
            header.append({"nodes": list(frame.masks), "missing": list(frame.missing)})
        save_tensors(path, tensors, {"schema": SCHEMA, "frames": json.dumps(header)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Evidence:
        try:
            with open_tensors(path) as file:
                header = file.metadata() or {}
                if header.get("schema") != SCHEMA:
                    raise PhysPlanError(f"{path} is not evidence of this version ({SCHEMA}): make it again.")
                frames = [
                    KeyframeEvidence(
                        image=file.get_tensor(f"{number}.image"),
                        depth=file.get_tensor(f"{number}.depth"),
                        masks=dict(
                            zip(entry["nodes"], file.get_tensor(f"{number}.masks"), strict=True)
                            if entry["nodes"]
                            else ()
                        ),
                        missing=tuple(entry["missing"]),
                    )
                    for number, entry in enumerate(json.loads(header["frames"]))
                ]
                _check_shapes(frames)
                return cls(first=frames[0], keyframes=tuple(frames[1:]))
        except (OSError, SafetensorError, ValueError, LookupError, TypeError) as error:
            raise PhysPlanError(
                f"Cannot read the evidence in {path} ({error}): delete it to make it again."
            ) from None


def _check_shapes(frames: Sequence[KeyframeEvidence]) -> None:
    size = frames[0].depth.shape
    for number, frame in enumerate(frames):
        masks = all(isinstance(node, str) and mask.dtype == torch.bool for node, mask in frame.masks.items())
        shapes = {frame.image.shape[1:], frame.depth.shape, *(mask.shape for mask in frame.masks.values())}
        fits = frame.image.ndim == 3 and len(frame.image) == 3 and len(size) == 2 and shapes == {size}
        if not (masks and fits and frame.image.is_floating_point() and frame.depth.is_floating_point()):
            raise ValueError(f"picture {number} has masks, depth or pixels of another shape or kind")
        if not all(isinstance(node, str) for node in frame.missing):
            raise ValueError(f"picture {number} misses what is not a name")


def gather_evidence(
    chain: EventChain,
    first_frame: Tensor,
    keyframes: Sequence[Tensor],
    *,
    segmenter: Segmenter,
    depth: DepthEstimator,
) -> Evidence:
    """Masks and depth of the first frame and of every keyframe, all [3, H, W] of one size."""
    _check_count(chain, len(keyframes))
    tools = {"segmenter": segmenter, "depth": depth}
    return evidence_of(
        chain,
        look(chain.graph, first_frame, **tools),  # type: ignore[arg-type]
        [look(e.graph, image, **tools) for e, image in zip(chain.events, keyframes, strict=True)],  # type: ignore[arg-type]
    )


def evidence_of(chain: EventChain, first: Sighting, keyframes: Sequence[Sighting]) -> Evidence:
    """The evidence of pictures that were looked at before."""
    _check_count(chain, len(keyframes))
    start = first_frame_evidence(chain.graph, first)
    known = dict(start.masks)
    frames = []
    for event, seen in zip(chain.events, keyframes, strict=True):
        if seen.image.shape != first.image.shape:
            raise PhysPlanError(
                f"A keyframe is {tuple(seen.image.shape)} but the first frame is {tuple(first.image.shape)}: "
                "resize the keyframes to the first frame."
            )
        frame = keyframe_evidence(event.graph, seen, known=known)
        # A node keeps the place where it was first seen, so that it is the same object in every keyframe.
        known = {**frame.masks, **known}
        frames.append(frame)
    return Evidence(first=start, keyframes=tuple(frames))


def _check_count(chain: EventChain, keyframes: int) -> None:
    if keyframes != len(chain.events):
        raise PhysPlanError(
            f"The plan has {len(chain.events)} events but {keyframes} keyframes: draw one for each."
        )


def first_frame_evidence(graph: StateGraph, seen: Sighting) -> KeyframeEvidence:
    """The observed frame: relations tell the nodes of one category apart, else they go from left to right."""

    def cost(
        nodes: Sequence[str], masks: Sequence[Tensor], known: Mapping[str, Tensor]
    ) -> NDArray[np.float64]:
        return relation_cost(nodes, masks, graph=graph, known=known, nearness=seen.depth)

    return _identify(graph, seen, cost)


def keyframe_evidence(graph: StateGraph, seen: Sighting, *, known: Mapping[str, Tensor]) -> KeyframeEvidence:
    """A keyframe of the state `graph`: nodes of one category keep the places they have in `known`."""
    sources = {node.id: node.source for node in graph.nodes}

    def cost(nodes: Sequence[str], masks: Sequence[Tensor], _: Mapping[str, Tensor]) -> NDArray[np.float64]:
        return tracking_cost(nodes, masks, known=known, sources=sources)

    return _identify(graph, seen, cost)


def _identify(graph: StateGraph, seen: Sighting, cost_of: CostOf) -> KeyframeEvidence:
    nodes: dict[str, list[str]] = defaultdict(list)
    for node in graph.nodes:
        nodes[node.category.casefold()].append(node.id)
    masks: dict[str, Tensor] = {}
    # Single nodes come first: their places tell the nodes of a shared category apart.
    for category, ids in sorted(nodes.items(), key=lambda item: len(item[1])):
        instances = seen.instances.get(category)
        if not instances:
            continue
        for node_id, owned in zip(ids, assign(cost_of(ids, instances, masks), instances), strict=True):
            if owned:
                masks[node_id] = torch.stack([instances[index] for index in owned]).any(0)
    ordered = {node.id: masks[node.id] for node in graph.nodes if node.id in masks}
    missing = tuple(node.id for node in graph.nodes if node.id not in masks)
    return KeyframeEvidence(image=seen.image, masks=ordered, depth=seen.depth, missing=missing)
