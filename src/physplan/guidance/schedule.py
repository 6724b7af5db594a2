"""When the video is guided: the two stages of algorithm 1, and Frame Guidance's explicit list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from physplan.errors import PhysPlanError
from physplan.guidance.paper.constants import CONSTANTS, Constants
from physplan.settings import setting

MAX_STEPS = 1_000  # steps, and repeats of one


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Guided repeats of each denoising step, counted from 0; steps beyond the list are unguided."""

    repeats: tuple[int, ...] = setting(says="of each step, in order", low=0, high=MAX_STEPS)
    travel: tuple[int, int] = setting(
        says="first and last step, both included, whose repeats end in re-noising", low=-1, high=MAX_STEPS
    )

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.repeats):
            raise PhysPlanError(f"A step cannot be guided {min(self.repeats)} times: use 0 or more repeats.")

    @classmethod
    def linear(
        cls,
        *,
        layout_steps: int = CONSTANTS.layout_steps,
        guided_steps: int = CONSTANTS.guided_steps,
        repeats: int = CONSTANTS.repeats,
    ) -> Self:
        """Algorithm 1's n_E, n_L and N_g."""
        if max(guided_steps, abs(repeats)) > MAX_STEPS:
            raise PhysPlanError(
                f"A schedule has at most {MAX_STEPS} guided steps, with as many repeats each."
            )
        if not 0 <= layout_steps <= guided_steps:
            raise PhysPlanError(
                f"layout_steps ({layout_steps}) must lie between 0 and guided_steps ({guided_steps})."
            )
        paper = Constants(layout_steps=layout_steps, guided_steps=guided_steps, repeats=repeats)
        repeated = tuple(paper.repeats_at(n) for n in range(guided_steps))
        return cls(repeats=repeated, travel=(layout_steps, guided_steps - 1))

    @classmethod
    def unguided(cls) -> Self:
        return cls(repeats=(), travel=(0, -1))

    def at(self, step: int) -> int:
        return self.repeats[step] if step < len(self.repeats) else 0

    def travels(self, step: int) -> bool:
        """Whether the step is in the detail stage: unweighted gradients and time travel."""
        return self.travel[0] <= step <= self.travel[1]

    def check(self, num_steps: int) -> None:
        if len(self.repeats) > num_steps:
            raise PhysPlanError(
                f"The schedule guides {len(self.repeats)} steps, but the video is sampled in {num_steps}:"
                " use fewer guided steps, or more num_inference_steps."
            )


# Seen in use with its CogVideoX pipeline: 95 repeats over 50 steps, time travel in steps 5 to 20.
FRAME_GUIDANCE = Schedule(repeats=(10,) * 5 + (5,) * 5 + (2,) * 10, travel=(5, 20))
