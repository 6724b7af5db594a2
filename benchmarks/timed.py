"""What the benchmarks of time share: a plan with much in it, and medians of runs that take turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import torch

from physplan.graph import EventChain, GraphEdit, Link, Node, PhysicalDelta, StateChange, StateGraph, Update
from physplan.perception import Evidence
from physplan.video.protocol import Conditioning, VideoModel
from physplan_testing.pictures import box, disc, evidence_of, paint


def busy_plan(events: int, num_frames: int, size: tuple[int, int]) -> tuple[EventChain, Evidence]:
    """A ball goes from place to place while a log burns and a balloon grows; a cup stands by."""
    height, width = size
    red, teal, dark, wood = (0.85, 0.2, 0.15), (0.1, 0.75, 0.6), (0.12, 0.12, 0.14), (0.5, 0.32, 0.15)
    names = ("ball#1", "balloon#2", "crate#3", "log#4", "cup#5")
    edits: list[list[GraphEdit]] = []
    pictures = []
    for event in range(events + 1):
        radius = width * (0.08 + 0.01 * event)
        char = 1 - event / (events + 1)
        layers = {
            "ball#1": (disc(size, width * (0.15 + 0.07 * event), height * 0.3, width * 0.09), red),
            "balloon#2": (disc(size, width * 0.75, height * 0.25, radius), teal),
            "crate#3": (box(size, width // 2, height * 5 // 8, width * 7 // 8, height * 7 // 8), dark),
            "log#4": (
                box(size, width // 16, height * 11 // 16, width * 7 // 16, height * 13 // 16),
                (wood[0] * char, wood[1] * char, wood[2] * char),
            ),
            "cup#5": (box(size, 0, height // 2, width // 8, height * 5 // 8), (0.3, 0.3, 0.8)),
        }
        pictures.append((paint(size, *layers.values()), {node: mask for node, (mask, _) in layers.items()}))
        if event:
            edits.append(
                [
                    Update("log#4", "surface", f"charred {event}"),
                    Update("balloon#2", "extent", f"size {event}"),
                ]
            )
    edits[0].append(Link("ball#1", "near", "crate#3"))
    changed = [("log#4", "balloon#2", "ball#1", "crate#3"), *[("log#4", "balloon#2")] * (events - 1)]
    chain = EventChain.build(
        prompt="a ball rolls, a log burns, a balloon grows",
        num_frames=num_frames,
        graph=StateGraph([Node(name, name.split("#")[0]) for name in names], []),
        deltas=[
            PhysicalDelta(tuple(StateChange(node, "later", "time passes") for node in nodes), 0.95 / events)
            for nodes in changed
        ],
        edits=edits,
    )
    return chain, evidence_of(chain, *pictures)


def step_of(model: VideoModel, conditioning: Conditioning, n: int = 2) -> Callable[[], object]:
    """One reverse step without guidance."""

    @torch.no_grad()
    def once() -> object:
        return model.predict(conditioning.latents, n, conditioning)

    return once


def medians(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each, taken by turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):  # the first is to warm up
        for name, run in runs.items():
            start = time.process_time()
            run()
            if turn:
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
