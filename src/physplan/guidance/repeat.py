"""One guided repeat, the inner loop of algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.frame_guidance_noise import draw_frames_first
from physplan.guidance.gradients import Direction, direction
from physplan.guidance.objective import Objective
from physplan.guidance.previews import Look, anchors_of
from physplan.guidance.records import Stage, StepRecord
from physplan.guidance.still_latents import KeepLatents
from physplan.video.frames import Window
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import draw_noise


class FrameRound(Objective, Protocol):
    """An objective of frames, not of events: every repeat looks at one more frame, in rounds."""

    def turn(self, repeat: int) -> tuple[int, int]:
        """The frame to look at, and the event that is under way there."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidedRun:
    """What all repeats of one run have in common."""

    model: VideoModel
    conditioning: Conditioning
    objective: Objective
    windows: Mapping[int, Window]  # J_i of algorithm 1, by event
    bystanders: FrameRound | KeepLatents | None
    config: GuidanceConfig
    generator: torch.Generator
    first_guided: int = 0  # the step that is the schedule's first

    def looks(self, events: Mapping[int, Window], number: int) -> list[Look]:
        """What repeat `number` decodes: the anchors of these events, and a frame of the bystanders' round."""
        found = anchors_of(self.objective, events)
        if isinstance(self.bystanders, KeepLatents):
            found.append(self.bystanders.look())
        elif self.bystanders is not None:
            frame, event = self.bystanders.turn(number)
            window = window_of(self.model, self.conditioning, frame, self.config)
            found.append(Look(objective=self.bystanders, event=event, window=window, anchor=False))
        return found


def guided_repeat(
    run: GuidedRun, z: Tensor, n: int, *, repeat: int, number: int
) -> tuple[Tensor, Direction, StepRecord]:
    """z after one update at step n; it is the step's `repeat`-th repeat and the run's `number`-th."""
    config, schedule = run.config, run.config.schedule
    step = n - run.first_guided
    stage: Stage = "detail" if schedule.travels(step) else "layout"
    events = events_of(number, run.windows, config.events_per_repeat)
    found = direction(
        run.model,
        run.conditioning,
        z,
        n,
        looks=run.looks(events, number),
        config=config,
        weighted=stage == "layout",
        progress=step / max(1, len(schedule.repeats) - 1),
    )
    # Events that take turns are in `events` of all repeats: with a step that much longer, a round of turns
    # moves the latent as far as all events in every repeat would (eq. 10). Without turns the factor is 1.
    update = config.step_size * len(run.windows) / len(events) * found.gradient
    done = config.until == "satisfied" and not found.gradient.any()  # then a travel would only shake it
    with torch.no_grad():
        if not done:
            z = z - update if stage == "layout" else travel(run, z, n, found.prediction, update)
    record = StepRecord(
        step=n, repeat=repeat, stage=stage, terms=found.terms, update_norm=float(update.norm())
    )
    return z, found, record


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


def events_of(repeat: int, windows: Mapping[int, Window], count: int | None) -> dict[int, Window]:
    """The events whose turn it is: all of them, or the next `count` in the round."""
    events = list(windows)
    if count is None or count >= len(events):
        return dict(windows)
    return {event: windows[event] for event in (events * 2)[repeat * count % len(events) :][:count]}


def window_of(model: VideoModel, conditioning: Conditioning, frame: int, config: GuidanceConfig) -> Window:
    """The latents to decode for a frame."""
    length = model.preview_length if config.window_length is None else config.window_length
    mode = model.preview_mode if config.window_mode is None else config.window_mode
    return conditioning.layout.window(frame, length, mode)
