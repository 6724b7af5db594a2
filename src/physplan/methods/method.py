"""A method: what a run does between the picture and the video."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from physplan.errors import PhysPlanError
from physplan.guidance.config import GradientMode, GuidanceConfig, StartAt
from physplan.methods.stage_names import OF_THE_PLAN, STAGES, StageName

if TYPE_CHECKING:
    from physplan.pipeline.config import Config


@dataclass(frozen=True, kw_only=True)
class Method:
    """`settings` names the field of `Config` that holds its guidance; None: no gradient is taken."""

    name: str
    about: str  # one line, for help and the studio
    settings: str | None = None
    starts_at: StartAt = "noise"
    follows_plan: bool = True
    samples: bool = True  # False: the sketch is the video, no video model is loaded
    conditioned: bool = False  # the video model is given the keyframes as pictures
    chooses: bool = False  # makes several videos and keeps the best: `best_of_n.*`
    ablatable: bool = False  # `<name>.<ablation>` exists for every ablation
    change: Callable[[GuidanceConfig], GuidanceConfig] = lambda config: config  # an ablation of the guidance
    planner: str = ""  # an ablation of the plan: the ending of its reasoner's name

    def stages(self, *, plan_given: bool = False) -> tuple[StageName, ...]:
        """Names of its stages, in order; without a plan to follow, a given one is still checked against."""
        left_out = set() if self.follows_plan else set(OF_THE_PLAN) - ({"plan"} if plan_given else set())
        left_out |= set() if self.samples else {"latents"}
        return tuple(stage for stage in STAGES if stage not in left_out)

    def start(self, config: Config) -> StartAt:
        return self.starts_at

    def guidance(self, config: Config) -> GuidanceConfig | None:
        """The settings of its guidance; None: no gradient is taken."""
        if self.settings is None:
            return None
        own: GuidanceConfig = getattr(config, self.settings)
        if own.start != self.start(config):
            raise PhysPlanError(
                f"{self.settings}.start is {own.start}, but {self.name} starts from {self.start(config)}:"
                " leave it out, or choose another method."
            )
        return self.change(own)

    def gradient(self, config: Config) -> GradientMode | Literal["none"]:
        """The gradient mode, for estimates of memory."""
        guidance = self.guidance(config)
        return "none" if guidance is None else guidance.gradient

    def encodes_clip(self, config: Config) -> bool:
        """Whether the video model's encoder sees a whole clip: the sketch."""
        return self.samples and self.start(config) == "sketch"

    def reasoner(self, name: str, known: Collection[str]) -> str:
        """The reasoner that it plans with: the config's own, or that one's ablation."""
        if not self.planner or name.endswith(self.planner):
            return name
        ablated = f"{name.removesuffix('-motion')}-{self.planner}"  # which asks for no motion
        if ablated not in known:
            raise PhysPlanError(
                f"{self.name} changes how a model plans, and the reasoner {name!r} has no such variant: use a"
                f" preset's own reasoner, or register one as {ablated!r}."
            )
        return ablated
