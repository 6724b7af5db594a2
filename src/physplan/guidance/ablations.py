"""The paper's ablations of the guidance (table 4, iii to viii), each as a change of the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from physplan.graph import Term
from physplan.guidance.config import GuidanceConfig, MeasureConfig

Change = Callable[[GuidanceConfig], GuidanceConfig]


def _without(term: Term) -> Change:
    return lambda config: replace(
        config, measure=replace(config.measure, without=config.measure.without | {term})
    )


def _whole_frame(config: GuidanceConfig) -> GuidanceConfig:
    """The limits of the terms do not apply to a loss over whole frames, so they are the defaults."""
    measure = replace(config.measure, satisfied=MeasureConfig.satisfied, satisfied_by={})
    return replace(config, losses=("whole_frame",), keep=False, outside_weight=1.0, measure=measure)


ABLATIONS: Mapping[str, Change] = {
    "whole_frame": _whole_frame,  # (iii)
    "no_regions": lambda config: replace(config, outside_weight=1.0),  # (iv)
    "no_appearance": _without(Term.APPEARANCE),  # (v)
    "no_extent": _without(Term.EXTENT),  # (vi)
    "no_position": _without(Term.POSITION),  # (vii)
    "no_depth": _without(Term.DEPTH),  # (viii)
    "no_keep": lambda config: replace(  # ours, as is the preservation that it removes
        config,
        keep=False,
        losses=tuple(loss for loss in config.losses if loss != "rest"),
        measure=replace(config.measure, count="all"),
    ),
}
