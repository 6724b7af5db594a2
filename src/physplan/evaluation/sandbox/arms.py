"""What is compared: a method with its options, under an editor that errs at a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from physplan.errors import PhysPlanError
from physplan.guidance.config import GradientMode, GuidanceConfig
from physplan.guidance.methods import ABLATIONS
from physplan.guidance.methods import METHODS as GUIDANCE_METHODS
from physplan.pipeline.config import Config
from physplan.pipeline.methods import METHODS as RUN_METHODS
from physplan.pipeline.methods import guidance_of
from physplan.registry import did_you_mean

if TYPE_CHECKING:
    from physplan.evaluation.sandbox.scenes import PlanKind

# How the small world, whose reasoner is no model, makes the plans of the ablations of the plan.
PLAN_KINDS: Mapping[str, PlanKind] = {"prompt_derived": "words", "full_graph": "reparsed"}  # (i), (ii)
LEVELS = (0, 1, 2, 3)
EDITOR_LEVEL = 1  # the sandbox's editor as it is; 0 is the simulator's own frame, 2 and 3 err more

NO_MOTION = "no_motion"  # the sketch's states jump: an ablation of `sketch`
BEST_OF_N = "best_of_n"  # of N unguided videos the one that the verification likes best
TRUTH = "truth"  # further takes of the same physics: what a perfect model would score
METHODS = (*dict.fromkeys((*RUN_METHODS, NO_MOTION, BEST_OF_N, TRUTH)),)
SKETCHED = ("sketch", "storyboard", NO_MOTION)
LEVEL_FREE = ("base", TRUTH)  # no keyframe reaches them
WHOLE = "whole"  # the sketch's option: whole keyframes, no masks
BEST_OF = 3


@dataclass(frozen=True, kw_only=True)
class Arm:
    """`name` is a method, then what is to be otherwise, each behind a colon: a gradient mode
    (`physplan:exact`), whole keyframes (`sketch:whole`), or a number: up to so many attempts until the
    verdict holds (`sketch:3`), for `best_of_n` its N."""

    name: str
    level: int = EDITOR_LEVEL

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise PhysPlanError(f"There is no method {self.method!r}. {did_you_mean(self.method, METHODS)}")
        for option in self.options:
            self._check(option)
        if self.level not in LEVELS:
            raise PhysPlanError(f"The editor errs at level 0, 1, 2 or 3, not {self.level}.")

    def _check(self, option: str) -> None:
        if option.isdecimal():
            if not 1 <= int(option) <= 100:
                raise PhysPlanError(f"{self.name!r}: there are 1 to 100 attempts, not {option}.")
            if not self.seeded or self.method == TRUTH:
                raise PhysPlanError(
                    f"{self.name!r}: {self.method} is not sampled, so one attempt is as good as another."
                )
        elif option == WHOLE:
            if self.method not in ("sketch", "storyboard"):
                raise PhysPlanError(
                    f"{self.name!r}: whole keyframes are for sketch:whole or storyboard:whole."
                )
        elif option not in get_args(GradientMode) or not self.has_gradient:
            raise PhysPlanError(
                f"{self.name!r}: PhysPlan's gradient modes are {', '.join(get_args(GradientMode))},"
                " for example physplan:exact; a number is how many attempts there may be, as in physplan:3."
            )

    @property
    def method(self) -> str:
        return self.name.partition(":")[0]

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(self.name.split(":")[1:])

    @property
    def tries(self) -> int:
        """How many videos there may be, of which one is kept."""
        given = next((int(option) for option in self.options if option.isdecimal()), None)
        return given or (BEST_OF if self.method == BEST_OF_N else 1)

    @property
    def seeded(self) -> bool:
        """Whether another seed gives another video."""
        return self.method != "storyboard"

    @property
    def until_it_holds(self) -> bool:
        return self.method != BEST_OF_N

    @property
    def has_gradient(self) -> bool:
        return self.method in GUIDANCE_METHODS and self.method not in ("base", "frame_guidance")

    @property
    def whole(self) -> Arm:
        """PhysPlan with nothing left out, with the same options and at the same level."""
        return (
            replace(self, name=self.name.replace(self.method, "physplan", 1)) if self.has_gradient else self
        )

    @property
    def guided(self) -> bool:
        """By the terms of a guidance config."""
        return self.method in GUIDANCE_METHODS and self.method != "base"

    @property
    def sketched(self) -> bool:
        return self.method in SKETCHED

    @property
    def has_levels(self) -> bool:
        """Whether `--levels` repeats it. Ablations, modes and attempts have the editor's own level alone."""
        if self.method in (*ABLATIONS, *PLAN_KINDS, *LEVEL_FREE, NO_MOTION):
            return False
        attempts = self.until_it_holds and self.tries > 1
        return not attempts and not set(self.options) & set(get_args(GradientMode))

    @property
    def plan(self) -> PlanKind:
        return PLAN_KINDS.get(self.method, "graph")

    @property
    def label(self) -> str:
        return self.name if self.level == EDITOR_LEVEL else f"{self.name} @ level {self.level}"

    def guidance(self, config: Config) -> GuidanceConfig:
        found = guidance_of(self.method, config) if self.guided else guidance_of("base", config)
        gradient = next((option for option in self.options if option in get_args(GradientMode)), None)
        return found.with_gradient(gradient) if gradient else found  # type: ignore[arg-type]


def arms(*names: str, levels: Sequence[int] = (EDITOR_LEVEL,)) -> tuple[Arm, ...]:
    """Every method at every level; what sees no keyframe has one level only."""
    return tuple(
        Arm(name=name, level=level)
        for name in names
        for level in (levels if name not in LEVEL_FREE else (EDITOR_LEVEL,))
    )


MAIN_ARMS = arms("base", "frame_guidance", "sketch", "physplan")
BASELINE_ARMS = arms("storyboard", "sketch:whole", BEST_OF_N, TRUTH)
ATTEMPT_ARMS = arms("sketch:3", "physplan:3")
MODE_ARMS = arms("physplan:exact", "physplan:direct")  # beside the preset's own mode
ABLATION_ARMS = arms(*PLAN_KINDS, *ABLATIONS, NO_MOTION)
