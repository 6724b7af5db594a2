"""What a guided run reports: every term of every repeat, what was skipped and why."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from physplan.guidance.paper.selection import TermSpec

Stage = Literal["layout", "detail", "unguided"]
Ended = Literal["finished", "unguided by request", "stopped by request"]


def seconds(device: torch.device) -> float:
    """The clock, once the device has done what it was asked for: else the wrong part would pay."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """Where the time of a run went, as the paper's table of runtimes has it."""

    previews: float = 0.0  # decoded for guidance
    backpropagation: float = 0.0  # the rest of the guided repeats: denoiser, measurement, gradients
    sampling: float = 0.0  # the reverse steps


@dataclass(frozen=True, kw_only=True)
class TermRecord:
    event: int
    term: str
    objects: tuple[str, ...]
    value: float | None  # None when the term was skipped
    gradient_norm: float | None = None  # before normalisation; None when the term gave no gradient
    skipped: str | None = None  # why

    @property
    def label(self) -> str:
        return TermSpec(event=self.event, name=self.term, objects=self.objects).label

    @classmethod
    def of(cls, spec: TermSpec, **outcome: Any) -> TermRecord:
        return cls(event=spec.event, term=spec.name, objects=spec.objects, **outcome)


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One guided repeat."""

    step: int
    repeat: int
    stage: Stage
    terms: tuple[TermRecord, ...]
    update_norm: float  # of what was subtracted from the latent, eta included


@dataclass(frozen=True, kw_only=True, eq=False)
class Progress:
    """What the callback sees after every guided repeat, and after every reverse step with `repeat` None."""

    step: int
    num_steps: int
    repeat: int | None
    stage: Stage
    clean: Tensor  # z_{0|t} [1, C, F, H, W]
    terms: tuple[TermRecord, ...] = ()
    previews: Mapping[int, Tensor] = field(default_factory=dict)  # event -> decoded frame [3, H, W]
    regions: Mapping[str, Tensor | None] = field(default_factory=dict)  # by `TermRecord.label`: [h, w]


# Return False to let the rest of the run go unguided; raise StopRun to end it with the clean estimate so far.
OnProgress = Callable[[Progress], bool | None]


class StopRun(Exception):
    """Raised by a callback to end the run; what is there so far is the result."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidanceResult:
    latents: Tensor  # clean latents [1, C, F, H, W], ready to decode
    steps: tuple[StepRecord, ...]
    ended: Ended = "finished"
    seconds: Seconds = field(default_factory=Seconds)
    regions: Mapping[str, Tensor] = field(default_factory=dict)  # each term's last one, by its label: [h, w]
    planned: int | None = None  # repeats that the schedule allowed; fewer are done where all is satisfied

    @property
    def repeats(self) -> int:
        return len(self.steps)

    def skipped(self) -> dict[str, int]:
        """How often each term was skipped, by term and reason."""
        return dict(
            Counter(
                f"{term.label}: {term.skipped}" for step in self.steps for term in step.terms if term.skipped
            )
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "ended": self.ended,
            "skipped": self.skipped(),
            "repeats": self.repeats,
            "planned_repeats": self.repeats if self.planned is None else self.planned,
            "steps": [_plain(asdict(step)) for step in self.steps],
        }


def read_steps(written: list[dict[str, Any]]) -> list[StepRecord]:
    """The steps of `GuidanceResult.to_json`, read back."""
    return [
        StepRecord(
            **{
                **step,
                "terms": tuple(
                    TermRecord(**{**term, "objects": tuple(term["objects"])}) for term in step["terms"]
                ),
            }
        )
        for step in written
    ]


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
