"""The stages of a run, in order."""

from typing import Literal, get_args

StageName = Literal["plan", "keyframes", "evidence", "sketch", "latents", "video", "verdict"]
STAGES: tuple[StageName, ...] = get_args(StageName)
OF_THE_PLAN = STAGES[: STAGES.index("latents")]  # those of a method that follows a plan
