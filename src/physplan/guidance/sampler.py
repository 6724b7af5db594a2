"""Algorithm 1: one guided sampling run, of PhysPlan, of Frame Guidance, or of anything between."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig, MeasureConfig
from physplan.guidance.gradients import Direction
from physplan.guidance.objective import Objective
from physplan.guidance.records import (
    Ended,
    GuidanceResult,
    OnProgress,
    Progress,
    Seconds,
    Stage,
    StepRecord,
    StopRun,
    read_steps,
    seconds,
)
from physplan.guidance.repeat import FrameRound, GuidedRun, guided_repeat, window_of
from physplan.guidance.schedule import Schedule
from physplan.guidance.still_latents import KeepLatents
from physplan.video.checkpoint import Checkpoint, SamplingState, resume
from physplan.video.frames import Window
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import Start, reverse_step


def guided_sample(
    model: VideoModel,
    conditioning: Conditioning,
    *,
    objective: Objective,
    anchors: Sequence[int],
    config: GuidanceConfig,
    generator: torch.Generator,
    bystanders: FrameRound | KeepLatents | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: Checkpoint | None = None,
    start: Start | None = None,
) -> GuidanceResult:
    """Sample clean latents, guided towards `objective` at the frames `anchors`, one per event.

    `bystanders` measures frames between and after the anchors as well. `generator` draws the noise of time
    travel, and of steps with an eta; give it the one that `prepare` drew the initial noise with. With a
    `checkpoint`, a run that was cut off goes on at its step. With a `start` other than noise, the schedule
    counts its steps from where nothing of it is put in any more: before that repeats would be overwritten.
    """
    noise, schedule = conditioning.noise, config.schedule
    schedule.check(noise.num_steps)
    run = GuidedRun(
        model=model,
        conditioning=conditioning,
        objective=objective,
        windows=anchor_windows(model, conditioning, anchors, config),
        bystanders=bystanders,
        config=config,
        generator=generator,
        first_guided=first_guided(start),
    )
    tell = on_progress or (lambda seen: None)
    records: list[StepRecord] = []
    regions: dict[str, Tensor] = {}
    ended: Ended = "finished"
    guided = bool(run.windows)
    z = clean = conditioning.latents
    begun = resume(checkpoint, generator, z)
    if begun is not None:
        z, records, regions = begun.latents, read_steps(begun.record), dict(begun.tensors)
    first = start.first if start else 0
    planned = planned_repeats(schedule, noise.num_steps, start)
    entered, guiding, decoding = seconds(z.device), 0.0, 0.0  # of this process, if the run is resumed
    try:
        for n in range(begun.step if begun else first, noise.num_steps):
            stage: Stage = "unguided"
            if start is not None:
                z = start.enter(z, n)
            unsatisfied = set(run.windows)
            for repeat in range(planned[n] if guided else 0):
                started = seconds(z.device)
                z, found, record = guided_repeat(run, z, n, repeat=repeat, number=len(records))
                guiding += seconds(z.device) - started
                decoding += found.decoding_seconds
                records.append(record)
                regions |= {label: one.detach() for label, one in found.regions.items() if one is not None}
                clean, stage = found.clean, record.stage
                if tell(_progress(record, found, noise.num_steps)) is False:
                    guided, ended, stage = False, "unguided by request", "unguided"
                    break
                unsatisfied = still_unsatisfied(unsatisfied, found, config.measure)
                if config.until == "satisfied" and not unsatisfied:
                    break
            with torch.no_grad():
                prediction = model.predict(z, n, conditioning)
                clean = noise.clean_estimate(z, prediction, n)
                z = reverse_step(noise, z, prediction, n, generator)
            if checkpoint is not None and ended == "finished":
                state = generator.get_state()
                written = GuidanceResult(latents=z, steps=tuple(records)).to_json()["steps"]
                checkpoint.save(
                    SamplingState(step=n + 1, latents=z, generator=state, record=written, tensors=regions)
                )
            seen = Progress(step=n, num_steps=noise.num_steps, repeat=None, stage=stage, clean=clean)
            if tell(seen) is False and guided:
                guided, ended = False, "unguided by request"
    except StopRun:
        z, ended = clean, "stopped by request"
    rest = seconds(z.device) - entered - guiding
    spent = Seconds(previews=decoding, backpropagation=guiding - decoding, sampling=rest)
    return GuidanceResult(
        latents=z,
        steps=tuple(records),
        ended=ended,
        regions=regions,
        seconds=spent,
        planned=sum(planned),
    )


def planned_repeats(schedule: Schedule, num_steps: int, start: Start | None = None) -> list[int]:
    """The guided repeats of every step, if none ends early."""
    begin = first_guided(start)
    return [schedule.at(n - begin) if n >= begin else 0 for n in range(num_steps)]


def first_guided(start: Start | None) -> int:
    """The step that is the schedule's first: the last one that begins with something put in."""
    return max(start.first, start.free - 1) if start else 0


def still_unsatisfied(events: set[int], found: Direction, measure: MeasureConfig) -> set[int]:
    """The events that have a term to satisfy, or were not looked at since the step began."""
    known = [term for term in found.terms if term.value is not None]
    wanting = {term.event for term in known if (term.value or 0.0) > measure.limit(term.term)}
    return (events - set(found.previews)) | wanting


def anchor_windows(
    model: VideoModel, conditioning: Conditioning, anchors: Sequence[int], config: GuidanceConfig
) -> dict[int, Window]:
    """J_i of algorithm 1: the latents to decode for each event's anchor."""
    return {event: window_of(model, conditioning, frame, config) for event, frame in enumerate(anchors)}


def _progress(record: StepRecord, found: Direction, num_steps: int) -> Progress:
    return Progress(
        step=record.step,
        num_steps=num_steps,
        repeat=record.repeat,
        stage=record.stage,
        clean=found.clean,
        terms=found.terms,
        previews=found.previews,
        regions=found.regions,
    )
