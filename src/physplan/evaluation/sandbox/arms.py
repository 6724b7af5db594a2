"""What is compared: a method with its gradient mode, under an editor that errs at a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from physplan.errors import PhysPlanError
from physplan.evaluation.sandbox.scenes import PlanKind
from physplan.guidance.config import GradientMode, GuidanceConfig
from physplan.guidance.methods import ABLATIONS, METHODS, method_config
from physplan.pipeline.config import Config
from physplan.registry import did_you_mean

# How the small world, whose reasoner is no model, makes the plans of the ablations of the plan.
PLAN_KINDS: Mapping[str, PlanKind] = {"prompt_derived": "words", "full_graph": "reparsed"}  # (i), (ii)
LEVELS = (0, 1, 2, 3)
EDITOR_LEVEL = 1  # the sandbox's editor as it is; 0 is the simulator's own frame, 2 and 3 err more


@dataclass(frozen=True, kw_only=True)
class Arm:
    """`name` is a method of `physplan.guidance`; `:mode` behind it sets a gradient mode."""

    name: str
    level: int = EDITOR_LEVEL

    def __post_init__(self) -> None:
        method, _, gradient = self.name.partition(":")
        if method not in METHODS:
            raise PhysPlanError(f"There is no method {method!r}. {did_you_mean(method, METHODS)}")
        if gradient and (gradient not in get_args(GradientMode) or method in ("base", "frame_guidance")):
            raise PhysPlanError(
                f"{self.name!r}: PhysPlan's gradient modes are {', '.join(get_args(GradientMode))},"
                " for example physplan:exact."
            )
        if self.level not in LEVELS:
            raise PhysPlanError(f"The editor errs at level 0, 1, 2 or 3, not {self.level}.")

    @property
    def method(self) -> str:
        return self.name.partition(":")[0]

    @property
    def whole(self) -> Arm:
        """PhysPlan with nothing left out, in the same mode and at the same level."""
        return replace(self, name=self.name.replace(self.method, "physplan", 1))

    @property
    def guided(self) -> bool:
        return self.method != "base"

    @property
    def plan(self) -> PlanKind:
        return PLAN_KINDS.get(self.method, "graph")

    @property
    def label(self) -> str:
        return self.name if self.level == EDITOR_LEVEL else f"{self.name} @ level {self.level}"

    def guidance(self, config: Config) -> GuidanceConfig:
        found = method_config(self.method, physplan=config.guidance, frame_guidance=config.frame_guidance)
        gradient = self.name.partition(":")[2]
        return found.with_gradient(gradient) if gradient else found  # type: ignore[arg-type]


def arms(*names: str, levels: Sequence[int] = (EDITOR_LEVEL,)) -> tuple[Arm, ...]:
    """Every method at every level; the base model sees no keyframe, so it has one level only."""
    return tuple(
        Arm(name=name, level=level)
        for name in names
        for level in (levels if name != "base" else (EDITOR_LEVEL,))
    )


MAIN_ARMS = arms("base", "frame_guidance", "physplan")
MODE_ARMS = arms("physplan:exact", "physplan:direct")  # beside the preset's own mode
ABLATION_ARMS = arms(*PLAN_KINDS, *ABLATIONS)
