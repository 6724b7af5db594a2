"""What is compared: a method with its options, under an editor that errs at a level."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from physplan.errors import PhysPlanError
from physplan.guidance.config import GradientMode, GuidanceConfig, Keyframes
from physplan.methods import Method, find, names
from physplan.methods.ablations import ablation_names
from physplan.methods.base import BASE
from physplan.pipeline.config import Config
from physplan.registry import did_you_mean

if TYPE_CHECKING:
    from physplan_bench.sandbox.scenes import PlanKind

# How the small world, whose reasoner is no model, makes the plans of the ablations of the plan.
PLAN_KINDS: Mapping[str, PlanKind] = {"prompt_derived": "words", "full_graph": "reparsed"}  # (i), (ii)
LEVELS = (0, 1, 2, 3, 4)
EDITOR_LEVEL = 1  # the sandbox's editor as it is; 0 is the simulator's own frame, 2 to 4 err more

NO_MOTION = "no_motion"  # the sketch's states jump: an ablation of `sketch`
BEST_OF_N = "best_of_n"  # of N unguided videos the one that the verification likes best
TRUTH = "truth"  # further takes of the same physics: what a perfect model would score
PROPOSED = "guided_sketch"  # what the others are compared with, and whose ablations are the study's
OWN = {
    NO_MOTION: "sketch",
    BEST_OF_N: "base",
    TRUTH: "base",
}  # arms of the study: the method each samples with
WHOLE = "whole"  # the sketch's option: whole keyframes, no masks
CORRECTED, TIME = "corrected", re.compile(r"[1-9][0-9]{0,3}s")
BEST_OF, MOST_TRIES = 3, 100


@dataclass(frozen=True, kw_only=True)
class Arm:
    """`name` is a method, then its options, each behind a colon: a gradient mode
    (`guided_sketch:exact`), whole keyframes (`sketch:whole`), `raw` or `aligned` ones for guidance
    (`frame_guidance:aligned`), or a number: up to so many attempts until the
    verdict holds (`sketch:3`), for `best_of_n` its N. In place of a number 6s: as many as begin within 6
    seconds of CPU time. `corrected`: each attempt changes what the verdict asks for, not the seed alone."""

    name: str
    level: int = EDITOR_LEVEL

    def __post_init__(self) -> None:
        if self.method not in OWN and self.method not in names():
            known = [*names(), *OWN]
            raise PhysPlanError(f"There is no method {self.method!r}. {did_you_mean(self.method, known)}")
        for option in self.options:
            self._check(option)
        if self.level not in LEVELS:
            raise PhysPlanError(f"The editor errs at levels 0 to 4, not {self.level}.")

    def _check(self, option: str) -> None:
        if TIME.fullmatch(option) or option == CORRECTED:
            if not self.seeded or self.method in OWN:
                raise PhysPlanError(f"{self.name!r}: {option} is for attempts of a method that samples.")
        elif option.isdecimal():
            if not 1 <= int(option) <= 100:
                raise PhysPlanError(f"{self.name!r}: there are 1 to 100 attempts, not {option}.")
            if not self.seeded or self.method == TRUTH:
                raise PhysPlanError(
                    f"{self.name!r}: {self.method} is not sampled, so one attempt is as good as another."
                )
        elif option == WHOLE:
            if not self.sketched or self.method in OWN:
                raise PhysPlanError(
                    f"{self.name!r}: whole keyframes are for sketch:whole or storyboard:whole."
                )
        elif option in get_args(Keyframes):
            if not self.guided:
                raise PhysPlanError(f"{self.name!r}: {option} keyframes are for methods with guidance.")
        elif option not in get_args(GradientMode) or not self.has_gradient:
            raise PhysPlanError(
                f"{self.name!r}: gradient modes are {', '.join(get_args(GradientMode))}, for example"
                f" {PROPOSED}:exact; a number is how many attempts there may be, as in {PROPOSED}:3."
            )

    @property
    def method(self) -> str:
        return self.name.partition(":")[0]

    @property
    def runs(self) -> Method:
        """The method that makes its videos."""
        return find(OWN.get(self.method, self.method), PROPOSED)

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(self.name.split(":")[1:])

    @property
    def tries(self) -> int:
        """How many videos there may be, of which one is kept."""
        given = next((int(option) for option in self.options if option.isdecimal()), None)
        few = BEST_OF if self.method == BEST_OF_N or self.corrected else 1
        return given or (MOST_TRIES if self.cpu_seconds else few)

    @property
    def cpu_seconds(self) -> float:
        """The time within which attempts may begin; 0 where their number counts alone."""
        return next((float(option[:-1]) for option in self.options if TIME.fullmatch(option)), 0.0)

    @property
    def corrected(self) -> bool:
        return CORRECTED in self.options

    @property
    def seeded(self) -> bool:
        """Whether another seed gives another video."""
        return self.runs.samples

    @property
    def until_it_holds(self) -> bool:
        return self.method != BEST_OF_N

    @property
    def has_gradient(self) -> bool:
        """Whether its guidance has gradient modes and ablations."""
        return self.runs.ablatable

    @property
    def whole(self) -> Arm:
        """The method with nothing left out, with the same options and at the same level."""
        whole = self.runs.name.partition(".")[0]
        return replace(self, name=self.name.replace(self.method, whole, 1)) if self.has_gradient else self

    @property
    def guided(self) -> bool:
        """By the terms of a guidance config."""
        return self.runs.settings is not None

    @property
    def sketched(self) -> bool:
        """Whether it starts from the sketch, or is it, without a gradient."""
        return self.runs.starts_at == "sketch" and not self.guided

    @property
    def has_levels(self) -> bool:
        """Whether `--levels` repeats it: not ablations, modes, and attempts unless `--methods` names them."""
        if "." in self.runs.name or not self.sees_keyframes or self.method == NO_MOTION:
            return False
        attempts = self.until_it_holds and self.tries > 1
        return not attempts and not set(self.options) & set(get_args(GradientMode))

    @property
    def sees_keyframes(self) -> bool:
        """Whether a keyframe reaches its video, or the choice of one."""
        return self.runs.follows_plan or self.method == BEST_OF_N

    @property
    def plan(self) -> PlanKind:
        return PLAN_KINDS.get(self.runs.name.partition(".")[2], "graph")

    @property
    def label(self) -> str:
        return self.name if self.level == EDITOR_LEVEL else f"{self.name} @ level {self.level}"

    def guidance(self, config: Config) -> GuidanceConfig:
        found = self.runs.guidance(config)
        assert found is not None
        gradient = next((option for option in self.options if option in get_args(GradientMode)), None)
        keyframes = next((option for option in self.options if option in get_args(Keyframes)), None)
        if keyframes:
            found = replace(found, keyframes=keyframes)  # type: ignore[arg-type]
        return found.with_gradient(gradient) if gradient else found  # type: ignore[arg-type]


def arms(*names: str, levels: Sequence[int] = (EDITOR_LEVEL,)) -> tuple[Arm, ...]:
    """Every method at every level; what sees no keyframe has one level only."""
    found = [Arm(name=f"{PROPOSED}.{name}" if _ablation(name) else name) for name in names]
    return tuple(
        replace(arm, level=level)
        for arm in found
        for level in (levels if arm.sees_keyframes else (EDITOR_LEVEL,))
    )


def _ablation(name: str) -> bool:
    """Whether it names an ablation alone, which is then one of the proposed method."""
    return name.partition(":")[0] in ablation_names()


MAIN_ARMS = arms(BASE.name, "frame_guidance", "sketch", PROPOSED)
BASELINE_ARMS = arms("storyboard", "sketch:whole", BEST_OF_N, TRUTH)
ATTEMPT_ARMS = arms("sketch:3", f"{PROPOSED}:3", "sketch:3:corrected", f"{PROPOSED}:3:corrected")
MODE_ARMS = arms(f"{PROPOSED}:exact", f"{PROPOSED}:direct")  # beside the preset's own mode
ABLATION_ARMS = arms(*(f"{PROPOSED}.{one}" for one in ablation_names()), NO_MOTION)
