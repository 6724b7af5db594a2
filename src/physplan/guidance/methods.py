"""Methods by name: the base model, Frame Guidance, PhysPlan and its ablations, all settings of one loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance.config import GuidanceConfig, MeasureConfig
from physplan.guidance.schedule import FRAME_GUIDANCE as FRAME_GUIDANCE_SCHEDULE
from physplan.guidance.schedule import Schedule
from physplan.registry import did_you_mean

PHYSPLAN = GuidanceConfig()

# Its public code for CogVideoX. It starts from the noise that
# the other methods start from; noise_order="frame_guidance" is the order in which its own code draws.
FRAME_GUIDANCE = GuidanceConfig(
    losses=("whole_frame",),
    schedule=FRAME_GUIDANCE_SCHEDULE,
    step_size=3.0,
    outside_weight=1.0,
    normalise="whole",
    update="after",
    window_mode="trailing",
)

# Its public code for Wan: half-size previews of two latents, compared with half-size keyframes.
FRAME_GUIDANCE_WAN = replace(
    FRAME_GUIDANCE,
    schedule=replace(FRAME_GUIDANCE_SCHEDULE, travel=(3, 10)),
    window_length=2,
    preview_downscale=2,
)


def _without(term: Term) -> Callable[[GuidanceConfig], GuidanceConfig]:
    return lambda config: replace(
        config, measure=replace(config.measure, without=config.measure.without | {term})
    )


# Each changes one thing of a PhysPlan configuration; the paper's numbers in table 4.
ABLATIONS: Mapping[str, Callable[[GuidanceConfig], GuidanceConfig]] = {
    "whole_frame": lambda config: replace(  # (iii)
        config,
        losses=("whole_frame",),
        keep=False,
        outside_weight=1.0,
        measure=replace(
            config.measure, satisfied=MeasureConfig.satisfied, satisfied_by={}
        ),  # it knows no scale
    ),
    "no_regions": lambda config: replace(config, outside_weight=1.0),  # (iv)
    "no_appearance": _without(Term.APPEARANCE),  # (v)
    "no_extent": _without(Term.EXTENT),  # (vi)
    "no_position": _without(Term.POSITION),  # (vii)
    "no_depth": _without(Term.DEPTH),  # (viii)
    "no_keep": lambda config: replace(  # not the paper's, as what it removes is not
        config, keep=False, measure=replace(config.measure, count="all")
    ),
}
# Each changes how the plan is made: the planner's ending, and the method that its keyframes are followed by.
PLAN_ABLATIONS: Mapping[str, tuple[str, str]] = {
    "prompt_derived": ("prompt-derived", "whole_frame"),  # (i): no graph, so whole frames
    "full_graph": ("full-graph", "physplan"),  # (ii)
}
METHODS = ("base", "frame_guidance", "physplan", *PLAN_ABLATIONS, *ABLATIONS)


def method_config(
    name: str, *, physplan: GuidanceConfig = PHYSPLAN, frame_guidance: GuidanceConfig = FRAME_GUIDANCE
) -> GuidanceConfig:
    """The settings of a method; pass `physplan` or `frame_guidance` tuned for a model to start from those."""
    name = PLAN_ABLATIONS.get(name, ("", name))[1]
    if name == "base":
        return replace(physplan, schedule=Schedule.unguided(), start="noise", weak=None, strong=None)
    if name == "frame_guidance":
        return frame_guidance
    if name == "physplan":
        return physplan
    if name in ABLATIONS:
        return ABLATIONS[name](physplan)
    raise PhysPlanError(f"There is no guidance method {name!r}. {did_you_mean(name, METHODS)}")


def planner_of(method: str, reasoner: str, known: Collection[str]) -> str:
    """The reasoner that a method plans with: the preset's, or its ablation."""
    if method not in PLAN_ABLATIONS or reasoner.endswith(PLAN_ABLATIONS[method][0]):
        return reasoner
    name = f"{reasoner.removesuffix('-motion')}-{PLAN_ABLATIONS[method][0]}"  # which asks for no motion
    if name not in known:
        raise PhysPlanError(
            f"{method} changes how a model plans, and the reasoner {reasoner!r} has no such variant: use a"
            f" preset's own reasoner, or register one as {name!r}."
        )
    return name
