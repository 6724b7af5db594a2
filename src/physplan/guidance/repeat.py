"""One guided repeat, the inner loop of algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.extensions.frame_guidance import draw_frames_first
from physplan.guidance.gradients.direction import Direction, direction
from physplan.guidance.objective import Objective
from physplan.guidance.previews import PreviewRequest, anchors_of
from physplan.guidance.records import Stage
from physplan.video.frames import Window
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import Start, draw_noise


class FrameRound(Objective, Protocol):
    """An objective of frames, not of events: every repeat looks at one more frame, in rounds."""

    def turn(self, repeat: int) -> tuple[int, int]:
        """The frame to look at, and the event that is under way there."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidedRun:
    """What all repeats of one run have in common.

    `generator` draws the noise of time travel, and of steps with an eta: the one that `prepare` drew the
    initial noise with. `bystanders` measures frames between and after the anchors as well.
    """

    model: VideoModel
    conditioning: Conditioning
    objective: Objective
    anchors: Sequence[int]  # one frame per event
    config: GuidanceConfig
    generator: torch.Generator
    bystanders: FrameRound | None = None
    start: Start | None = None  # None: noise

    @cached_property
    def windows(self) -> Mapping[int, Window]:
        """J_i of algorithm 1, by event: the latents to decode for its anchor."""
        return anchor_windows(self.model, self.conditioning, self.anchors, self.config)

    @property
    def first(self) -> int:
        """The first step that is done."""
        return self.start.first if self.start else 0

    def enter(self, z: Tensor, n: int) -> Tensor:
        """The latents with which step n begins."""
        return z if self.start is None else self.start.enter(z, n)

    def stage(self, n: int) -> Stage:
        return "detail" if self.config.schedule.travels(n - first_guided(self.start)) else "layout"

    def requests(self, events: Mapping[int, Window], number: int) -> list[PreviewRequest]:
        """What repeat `number` decodes: the anchors of these events, and a frame of the bystanders' round."""
        found = anchors_of(self.objective, events)
        if self.bystanders is not None:
            frame, event = self.bystanders.turn(number)
            window = window_of(self.model, self.conditioning, frame, self.config)
            found.append(PreviewRequest(objective=self.bystanders, event=event, window=window, anchor=False))
        return found


def guided_repeat(run: GuidedRun, z: Tensor, n: int, *, number: int) -> tuple[Tensor, Direction, Tensor]:
    """z after one update at step n, what gave it, and the update; it is the run's `number`-th repeat."""
    config, stage = run.config, run.stage(n)
    events = events_of(number, run.windows, config.events_per_repeat)
    found = direction(
        run.model,
        run.conditioning,
        z,
        n,
        requests=run.requests(events, number),
        config=config,
        weighted=stage == "layout",
    )
    update = step_of_repeat(config, found.gradient, share=len(events) / len(run.windows))
    if config.until == "satisfied" and not found.gradient.any():  # a travel would only add noise
        return z, found, update
    with torch.no_grad():
        moved = z - update if stage == "layout" else travel(run, z, n, found.prediction, update)
    return moved, found, update


def step_of_repeat(config: GuidanceConfig, gradient: Tensor, *, share: float) -> Tensor:
    """What is taken off z; `share` of the events were looked at.

    Events that take turns are in `share` of all repeats: with a step that much longer, a round of turns moves
    the latent as far as all events in every repeat would (eq. 10).
    """
    return config.step_size / share * gradient


def travel(run: GuidedRun, z: Tensor, n: int, prediction: Tensor, update: Tensor) -> Tensor:
    """Time travel: one reverse step with the update in it, then back to the noise level of step n."""
    config, noise = run.config, run.conditioning.noise
    draw = draw_frames_first if config.noise_order == "frame_guidance" else draw_noise
    drawn = draw(z, run.generator)
    if config.update == "after":
        return noise.travel(z, prediction, n, drawn, after=update)
    moved = z - update
    if config.reevaluate:
        prediction = run.model.predict(moved, n, run.conditioning)
    return noise.travel(moved, prediction, n, drawn)


def first_guided(start: Start | None) -> int:
    """The step that is the schedule's first: the last one that begins with something put in. Before it,
    repeats would be overwritten."""
    return max(start.first, start.free - 1) if start else 0


def events_of(repeat: int, windows: Mapping[int, Window], count: int | None) -> dict[int, Window]:
    """The events whose turn it is: all of them, or the next `count` in the round."""
    events = list(windows)
    if count is None or count >= len(events):
        return dict(windows)
    return {event: windows[event] for event in (events * 2)[repeat * count % len(events) :][:count]}


def anchor_windows(
    model: VideoModel, conditioning: Conditioning, anchors: Sequence[int], config: GuidanceConfig
) -> dict[int, Window]:
    return {event: window_of(model, conditioning, frame, config) for event, frame in enumerate(anchors)}


def window_of(model: VideoModel, conditioning: Conditioning, frame: int, config: GuidanceConfig) -> Window:
    """The latents to decode for a frame."""
    length = model.preview_length if config.window_length is None else config.window_length
    mode = model.preview_mode if config.window_mode is None else config.window_mode
    return conditioning.layout.window(frame, length, mode)
