"""Algorithm 1: one guided sampling run, of PhysPlan, of Frame Guidance, or of anything between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.frame_guidance_draws import draw_frames_first
from physplan.guidance.gradients import Direction, direction
from physplan.guidance.objective import Objective
from physplan.guidance.previews import Look, anchors_of
from physplan.guidance.records import GuidanceResult, OnProgress, Progress, Stage, StepRecord, StopRun
from physplan.video.frames import Window
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import draw_noise, reverse_step


class Watch(Objective, Protocol):
    """Measures one more frame in every repeat, whatever event's turn it is."""

    def turn(self, repeat: int) -> tuple[int, int]:
        """The frame to look at, and the event that is under way there."""
        ...


def guided_sample(
    model: VideoModel,
    conditioning: Conditioning,
    *,
    objective: Objective,
    anchors: Sequence[int],
    config: GuidanceConfig,
    generator: torch.Generator,
    watch: Watch | None = None,
    on_progress: OnProgress | None = None,
) -> GuidanceResult:
    """Sample clean latents, guided towards `objective` at the frames `anchors`, one per event.

    `watch` measures frames between and after the anchors as well. `generator` draws the noise of time travel,
    and of steps with an eta; give it the one that `prepare` drew the initial noise with.
    """
    z, noise = conditioning.latents, conditioning.noise
    schedule = config.schedule
    schedule.check(noise.num_steps)
    windows = anchor_windows(model, conditioning, anchors, config)
    records: list[StepRecord] = []
    ended: Literal["finished", "unguided by request", "stopped by request"] = "finished"
    guided = bool(windows)
    clean = z
    try:
        for n in range(noise.num_steps):
            stage: Stage = "detail" if schedule.travels(n) else "layout"
            for repeat in range(schedule.at(n) if guided else 0):
                turn = events_of(len(records), windows, config.events_per_repeat)
                looks = anchors_of(objective, turn)
                if watch is not None:
                    frame, event = watch.turn(len(records))
                    window = window_of(model, conditioning, frame, config)
                    looks.append(Look(objective=watch, event=event, window=window, anchor=False))
                found = direction(
                    model,
                    conditioning,
                    z,
                    n,
                    looks=looks,
                    config=config,
                    weighted=stage == "layout",
                    progress=n / max(1, len(schedule.repeats) - 1),
                )
                clean = found.clean
                change = config.step_size * len(windows) / len(turn) * found.gradient
                with torch.no_grad():
                    if stage == "layout":
                        z = z - change
                    else:
                        z = travel(model, conditioning, z, n, found, change, config, generator)
                records.append(
                    StepRecord(
                        step=n,
                        repeat=repeat,
                        stage=stage,
                        terms=found.terms,
                        update_norm=float(change.norm()),
                    )
                )
                if not _report(on_progress, n, noise.num_steps, repeat, stage, found):
                    guided, ended = False, "unguided by request"
                    break
            with torch.no_grad():
                prediction = model.predict(z, n, conditioning)
                clean = noise.clean_estimate(z, prediction, n)
                z = reverse_step(noise, z, prediction, n, generator)
            if on_progress is not None:
                stage = stage if guided and schedule.at(n) else "unguided"
                seen = Progress(step=n, num_steps=noise.num_steps, repeat=None, stage=stage, clean=clean)
                if on_progress(seen) is False and guided:
                    guided, ended = False, "unguided by request"
    except StopRun:
        z, ended = clean, "stopped by request"
    return GuidanceResult(latents=z, steps=tuple(records), ended=ended)


def anchor_windows(
    model: VideoModel, conditioning: Conditioning, anchors: Sequence[int], config: GuidanceConfig
) -> dict[int, Window]:
    """J_i of algorithm 1: the latents to decode for each event's anchor."""
    return {event: window_of(model, conditioning, frame, config) for event, frame in enumerate(anchors)}


def window_of(model: VideoModel, conditioning: Conditioning, frame: int, config: GuidanceConfig) -> Window:
    length = model.preview_length if config.window_length is None else config.window_length
    mode = model.preview_mode if config.window_mode is None else config.window_mode
    return conditioning.layout.window(frame, length, mode)


def events_of(repeat: int, windows: Mapping[int, Window], count: int | None) -> dict[int, Window]:
    """The events whose turn it is: all of them, or the next `count` in the round."""
    events = list(windows)
    if count is None or count >= len(events):
        return dict(windows)
    return {event: windows[event] for event in (events * 2)[repeat * count % len(events) :][:count]}


def travel(
    model: VideoModel,
    conditioning: Conditioning,
    z: Tensor,
    n: int,
    found: Direction,
    change: Tensor,
    config: GuidanceConfig,
    generator: torch.Generator,
) -> Tensor:
    """Time travel: one reverse step with the update in it, then back to the noise level of step n."""
    noise = conditioning.noise
    if config.update == "after":
        following = noise.step(z, found.prediction, n) - change
    else:
        moved = z - change
        prediction = model.predict(moved, n, conditioning) if config.reevaluate else found.prediction
        following = noise.step(moved, prediction, n)
    draw = draw_frames_first if config.draws == "frame_guidance" else draw_noise
    return noise.renoise(following, n, draw(z, generator))


def _report(
    on_progress: OnProgress | None, n: int, num_steps: int, repeat: int, stage: Stage, found: Direction
) -> bool:
    if on_progress is None:
        return True
    seen = Progress(
        step=n,
        num_steps=num_steps,
        repeat=repeat,
        stage=stage,
        clean=found.clean,
        terms=found.terms,
        previews=found.previews,
        regions=found.regions,
    )
    return on_progress(seen) is not False
