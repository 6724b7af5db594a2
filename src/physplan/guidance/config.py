"""All settings of the guidance; docs/guidance.md explains those that the paper leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance.paper.constants import CONSTANTS
from physplan.guidance.schedule import Schedule
from physplan.settings import setting
from physplan.video.frames import WindowMode

GradientMode = Literal["exact", "fused", "direct"]
CombineAt = Literal["clean", "features"]
Fill = Literal["occupancy", "log", "cells"]
FillMatched = Literal["none", "spawned", "all"]
Suppress = Literal["occupancy", "log"]
Counted = Literal["all", "named"]
StartAt = Literal["noise", "sketch"]
Until = Literal["schedule", "satisfied"]
Keyframes = Literal["raw", "aligned", "composed"]


@dataclass(frozen=True, kw_only=True)
class MeasureConfig:
    """How a preview is compared with a keyframe (eqs. 4 to 8)."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"first_temperature": None, "smallest_instance": 1}

    threshold: float = setting(
        CONSTANTS.threshold, "b: the similarity at which a cell is half the object", low=-1, high=1
    )
    temperature: float = setting(CONSTANTS.temperature, "tau: how sharp the occupancy is", above=0, high=100)
    instance_level: float = setting(
        CONSTANTS.instance_level,
        "occupancy above this is an instance; lower also sees the ghost of an object",
        above=0, below=1,
    )  # fmt: skip
    fill: Fill = setting("occupancy", "the count term's form for missing instances")
    fill_matched: FillMatched = setting(
        "none", "objects whose matched instances are filled up to the keyframe as well"
    )
    filled: float = setting(
        1.0, "share of the keyframe's occupancy, there or a cell beside, at which an instance is filled",
        above=0, high=1, later=True,
    )  # fmt: skip
    smallest_extra: float = setting(
        0.0, "of the object's area: a smaller extra instance, or one on the object, is no copy",
        low=0, high=1, later=True,
    )  # fmt: skip
    suppress: Suppress = setting("occupancy", "the count term's form for extra instances")
    ignore_lookalikes: bool = setting(
        True, "do not suppress what looks like o in the keyframe as well, without being o"
    )
    count: Counted = setting(
        "all", "the objects with a count term: all so far (eq. 8), or those an edit names"
    )
    without: frozenset[Term] = setting(frozenset(), "terms left out: ablations (v) to (viii)")
    satisfied: float = setting(
        1e-8, "a term at or below this has reached its target and gives no gradient", low=0, high=1_000_000
    )
    satisfied_by: Mapping[str, float] = setting(
        factory=dict, says="terms by name with a limit of their own, such as {count: 0.4}", later=True
    )

    def __post_init__(self) -> None:
        for name, limit in self.satisfied_by.items():
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1_000_000:
                raise PhysPlanError(f"satisfied_by.{name} is {limit!r}: give a number from 0 to 1 000 000.")
        if self.temperature <= 0:
            raise PhysPlanError("The occupancy's temperature must be above 0, for example 0.1.")
        if not 0 < self.instance_level < 1:
            raise PhysPlanError("instance_level must lie between 0 and 1; the paper's is 0.5.")
        _one_of(
            fill=(self.fill, Fill),
            fill_matched=(self.fill_matched, FillMatched),
            suppress=(self.suppress, Suppress),
            count=(self.count, Counted),
        )

    @property
    def instance_similarity(self) -> float:
        """The similarity at which occupancy is `instance_level`, at the final temperature."""
        return self.threshold + self.temperature * math.log(self.instance_level / (1 - self.instance_level))

    def limit(self, term: str) -> float:
        """At or below this a term is satisfied."""
        return self.satisfied_by.get(term, self.satisfied)


@dataclass(frozen=True, kw_only=True)
class GuidanceConfig:
    """How the comparison moves the latent (eq. 10, algorithm 1)."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"weight_at": "clean"}
    RETIRED_LATER: ClassVar[Mapping[str, Any]] = {"keep_in": "pixels", "step_of": "term"}

    losses: tuple[str, ...] = setting(("terms",), "'terms', 'rest', 'whole_frame' and registered losses")
    keyframes: Keyframes = setting(
        "raw", "as the editor drew them; aligned: its shift and tones undone, as in the sketch; composed: and"
        " the first frame wherever the plan changes nothing", later=True,
    )  # fmt: skip
    keep: bool = setting(False, "also hold what no edit names to the first frame, in all frames")
    measure: MeasureConfig = setting(factory=MeasureConfig, says="how a preview is compared with a keyframe")
    schedule: Schedule = setting(factory=Schedule.linear, says="guided repeats of each step")
    step_size: float = setting(CONSTANTS.step_size, "eta", low=0, high=10_000)
    outside_weight: float = setting(
        CONSTANTS.outside_weight,
        "lambda: 0 leaves everything outside the regions alone, 1 is unweighted",
        low=0, high=1,
    )  # fmt: skip
    normalise: Literal["term", "whole"] = setting(
        "term", "each term's gradient, or once their sum over the whole latent"
    )
    gradient: GradientMode = setting("exact", "how the terms' gradient reaches the latent: docs/guidance.md")
    combine_at: CombineAt = setting(
        "clean", "fused, direct: terms meet at z0, or at the decoded frame (one decoder pass)"
    )
    unconditional_grad: bool = setting(True, "whether the unconditional branch carries gradient")
    update: Literal["before", "after"] = setting(
        "before", "time travel: subtract before the reverse step, or after it"
    )
    reevaluate: bool = setting(False, "time travel: predict again at the updated latent for the reverse step")
    noise_order: Literal["own", "frame_guidance"] = setting(
        "own", "the order in which noise is drawn; `extensions/frame_guidance.py`"
    )
    events_per_repeat: int | None = setting(
        None, "None: all; fewer take turns, and time no longer grows with events", low=1, high=1_000
    )
    decoder: Literal["full", "tiny"] = setting(
        "full",
        "tiny: previews and gradients through the small decoder of video.files.tiny_decoder",
        later=True,
    )
    window_mode: WindowMode | None = setting(None, "None: what the model recommends")
    window_length: int | None = setting(
        None, "latents of a preview; None: what the model recommends", low=1, high=1_000
    )
    preview_downscale: int = setting(
        1, "shrink the clean latent by this before decoding: cheaper, coarser previews", low=1, high=64
    )

    start: StartAt = setting(
        "noise", "begin at noise (algorithm 1), or from the noised sketch of the plan", later=True
    )
    weak: float | None = setting(
        None, "of a sketch start: the share of the steps that it skips; None: the family's", low=0, high=1,
        later=True,
    )  # fmt: skip
    strong: float | None = setting(
        None, "of a sketch start: until this share of the steps the sketch is held; None: the family's",
        low=0, high=1, later=True,
    )  # fmt: skip
    until: Until = setting(
        "schedule", "do every repeat, or end a step's repeats when every term is satisfied", later=True
    )

    def __post_init__(self) -> None:
        _one_of(
            gradient=(self.gradient, GradientMode),
            keyframes=(self.keyframes, Keyframes),
            start=(self.start, StartAt),
            until=(self.until, Until),
            combine_at=(self.combine_at, CombineAt),
            normalise=(self.normalise, Literal["term", "whole"]),
            update=(self.update, Literal["before", "after"]),
            noise_order=(self.noise_order, Literal["own", "frame_guidance"]),
        )
        self._refuse_ignored()
        if self.events_per_repeat is not None and self.events_per_repeat < 1:
            raise PhysPlanError("events_per_repeat must be 1 or more, or None for all events.")
        if not 0 <= self.outside_weight <= 1:
            raise PhysPlanError(
                f"outside_weight (lambda) is {self.outside_weight}: choose it between 0 (nothing moves"
                " outside the regions) and 1 (no region weighting)."
            )

    def _refuse_ignored(self) -> None:
        """A setting that another one makes void is a misunderstanding: it is not passed over in silence."""
        whole, exact, direct = self.normalise == "whole", self.gradient == "exact", self.gradient == "direct"
        void = [
            (whole and not exact, "normalise whole is the gradient of the whole sum: set gradient to exact"),
            (whole and self.outside_weight != 1, "normalise whole knows no regions: set outside_weight to 1"),
            (
                exact and self.combine_at != "clean",
                "gradient exact takes every term through the denoiser alone: set combine_at to clean, or"
                " gradient to fused",
            ),
            (
                direct and not self.unconditional_grad,
                "gradient direct takes no gradient through the denoiser: leave unconditional_grad on",
            ),
            (
                self.start == "noise" and (self.weak is not None or self.strong is not None),
                "weak and strong are the clocks of a sketch: set start to sketch, or leave them out",
            ),
            (
                self.update == "after" and self.reevaluate,
                "update after uses the prediction at the latent before it: set reevaluate to false",
            ),
        ]
        for ignored, sentence in void:
            if ignored:
                raise PhysPlanError(f"{sentence}.")

    def with_gradient(self, mode: GradientMode) -> Self:
        """The same method in another gradient mode; settings that belong to the old mode alone go."""
        known: dict[str, dict[str, Any]] = {
            "exact": {"combine_at": "clean"},
            "fused": {},
            "direct": {"unconditional_grad": True},
        }
        return replace(self, gradient=mode, **known[mode])


def _one_of(**choices: tuple[object, object]) -> None:
    for name, (value, allowed) in choices.items():
        if value not in get_args(allowed):
            options = ", ".join(map(repr, get_args(allowed)))
            raise PhysPlanError(f"{name} is {value!r}, but must be one of {options}.")
