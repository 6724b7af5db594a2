"""The planning stage over values: a picture and a sentence in, a verified chain of events out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PIL import Image

from physplan.graph import EventChain, rescale
from physplan.pipeline.backends import Backends, OnCall
from physplan.pipeline.config import Config
from physplan.pipeline.requirements import can_reason
from physplan.reasoning import PlanRecord, PlanSettings, Scene, Step, plan
from physplan.reasoning.instructing import Instructor
from physplan.reasoning.picture import Picture
from physplan.reasoning.recheck import renew, to_rewrite


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
    chain = plan(
        backends.reasoner(calls, on_call, wanted),
        frame,
        prompt,
        config.video.clip.num_frames,
        settings=settings,
        progress=on_step,
        record=record,
    )
    return chain if wanted.until == 1 else within(chain, wanted.until)


def within(chain: EventChain, share: float) -> EventChain:
    """The same events in the first `share` of the video: no anchor lies after it."""
    shares = rescale([event.delta.fraction for event in chain.events])
    events = (
        replace(event, delta=replace(event.delta, fraction=share * own))
        for event, own in zip(chain.events, shares, strict=True)
    )
    return replace(chain, events=tuple(events)).rebuilt()


def renew_plan(
    config: Config,
    backends: Backends,
    frame: Picture | Image.Image,
    chain: EventChain,
    *,
    calls: Path | None = None,
    on_step: Callable[[Step], None] | None = None,
    on_call: OnCall | None = None,
) -> tuple[EventChain, list[str]]:
    """A given plan with instructions that belong to its net edits, and notes on those that were rewritten.

    The config's reasoner writes them where it can be asked here, else they are worded by rules.
    """
    if not to_rewrite(chain, asks=True) or not can_reason(config):
        return renew(chain)
    write = Instructor(
        reasoner=backends.reasoner(calls, on_call, config.reasoner),
        scene=Scene(picture=Picture.of(frame), prompt=chain.prompt, num_frames=chain.num_frames),
        progress=on_step or (lambda step: None),
    )
    return renew(chain, write=write, at_once=config.runtime.at_once)
