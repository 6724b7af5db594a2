"""One preview measured against one keyframe, term by term, under the run's settings; what is skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance.comparison import DetailedComparison, EventKeyframe, compare
from physplan.guidance.config import MeasureConfig
from physplan.guidance.extensions.counting import count
from physplan.guidance.paper import measurement as paper
from physplan.guidance.paper.measurement import TermInputs
from physplan.guidance.paper.selection import TermSpec
from physplan.registry import did_you_mean

NO_PAIR = "no instance of it in the preview matches one in the keyframe"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """A term's value in one preview, and where it may change the video."""

    spec: TermSpec
    value: Tensor | None = None  # scalar; None when the term is skipped
    region: Tensor | None = None  # [h, w] in [0, 1] on any grid; None is the whole frame
    skipped: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfiguredInputs(TermInputs):
    """With the settings, for terms that have some."""

    objects: Mapping[str, DetailedComparison]
    config: MeasureConfig


def measure_preview(
    keyframe: EventKeyframe, features: Tensor, nearness: Tensor | None, *, config: MeasureConfig
) -> tuple[Measured, ...]:
    """Every term of the event's objective; `nearness` [h, w] is needed by depth terms only."""
    target, compared = keyframe.target, compare(keyframe, features, config)
    regions: dict[str, Tensor] = {}
    measured = []
    for spec in target.terms:
        term = term_named(spec.name)
        gone = [f"{node}: {target.unusable[node]}" for node in spec.objects if node in target.unusable]
        usable = {node: compared[node] for node in spec.objects if node in compared}
        if not usable or (gone and term.all_objects):
            measured.append(Measured(spec=spec, skipped="; ".join(gone)))
            continue
        value = term.value(
            ConfiguredInputs(
                objects=usable, target=target, features=features, nearness=nearness, config=config
            )
        )
        if value is None:
            measured.append(term.nothing(spec, features))
            continue
        for node in usable:
            if node not in regions:
                regions[node] = compared[node].region()
        joined = torch.stack([regions[node] for node in usable]).amax(0)
        measured.append(Measured(spec=spec, value=value, region=joined))
    return tuple(measured)


@dataclass(frozen=True, kw_only=True)
class MeasuredTerm:
    """How a term of the graph is measured."""

    value: Callable[[ConfiguredInputs], Tensor | None]  # None: there is nothing to compare
    all_objects: bool = False  # whether it needs every one of its objects, not just some
    reached: bool = False  # whether nothing to compare means that the target is reached: a value of 0
    identity: str | None = None  # of a term of one's own: what it computes; without it no video is kept

    def nothing(self, spec: TermSpec, features: Tensor) -> Measured:
        """Neither gradient nor region: reached, or skipped."""
        if self.reached:
            return Measured(spec=spec, value=features.new_zeros(()))
        return Measured(spec=spec, skipped=NO_PAIR)


TERMS: dict[str, MeasuredTerm] = {
    Term.COUNT.value: MeasuredTerm(value=count, reached=True),
    Term.APPEARANCE.value: MeasuredTerm(value=paper.appearance),
    Term.EXTENT.value: MeasuredTerm(value=paper.extent),
    Term.POSITION.value: MeasuredTerm(value=paper.position),
    Term.DEPTH.value: MeasuredTerm(value=paper.depth, all_objects=True),
}
OURS = dict(TERMS)  # what `losses.own_terms` compares with


def term_named(name: str) -> MeasuredTerm:
    if name not in TERMS:
        raise PhysPlanError(f"There is no term {name!r}. {did_you_mean(name, TERMS)}")
    return TERMS[name]
