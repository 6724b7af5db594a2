"""Ablations as methods: `<method>.<ablation>`, for every method that is `ablatable`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from physplan.guidance.ablations import ABLATIONS, Change
from physplan.methods.method import Method

# Of the plan (table 4, i and ii): the ending of the reasoner's name, and the guidance that follows it.
PLAN_ABLATIONS: Mapping[str, tuple[str, Change]] = {
    "prompt_derived": ("prompt-derived", ABLATIONS["whole_frame"]),  # (i): no graph, so whole frames
    "full_graph": ("full-graph", lambda config: config),  # (ii)
}


def ablation_names() -> tuple[str, ...]:
    return (*PLAN_ABLATIONS, *ABLATIONS)


def ablate(method: Method, ablation: str) -> Method:
    planner, change = PLAN_ABLATIONS.get(ablation) or ("", ABLATIONS[ablation])
    return replace(
        method,
        name=f"{method.name}.{ablation}",
        about=f"{method.name} with the ablation {ablation}",
        change=change,
        planner=planner,
    )
