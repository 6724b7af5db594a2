"""The planning stage over values: a picture and a sentence in, a verified chain of events out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from physplan.graph import EventChain
from physplan.pipeline.backends import Backends, OnCall
from physplan.pipeline.config import Config
from physplan.reasoning import PlanRecord, PlanSettings, Step, plan
from physplan.reasoning.picture import Picture


def make_plan(
    config: Config,
    backends: Backends,
    frame: Picture | Image.Image,
    prompt: str,
    *,
    calls: Path | None = None,
    instructions: bool = True,
    record: PlanRecord | None = None,
    on_step: Callable[[Step], None] | None = None,
    on_call: OnCall | None = None,
) -> EventChain:
    """What happens, verified. `frame` is the picture as the video model gets it; `calls` keeps answers."""
    wanted = config.reasoner
    settings = PlanSettings(
        retries=wanted.retries,
        regenerations=wanted.regenerations,
        max_events=wanted.max_events,
        instructions=instructions,
        at_once=config.runtime.at_once,
    )
    return plan(
        backends.reasoner(calls, on_call, wanted),
        frame,
        prompt,
        config.video.num_frames or 0,
        settings=settings,
        progress=on_step,
        record=record,
    )
