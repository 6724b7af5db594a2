"""One guided video of a plan: the objective from plan and evidence, then algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.extensions.bystanders import KeepBystanders
from physplan.guidance.extensions.frame_guidance import frame_guidance_start
from physplan.guidance.objective import build_objective
from physplan.guidance.records import GuidanceResult, OnProgress, StopRun
from physplan.guidance.repeat import GuidedRun
from physplan.guidance.sampler import guided_sample
from physplan.guidance.watch import Watch
from physplan.perception.evidence import Evidence
from physplan.perception.protocol import DepthEstimator, FeatureEncoder
from physplan.video.checkpoint import Checkpoint
from physplan.video.protocol import Conditioning, VideoModel, led_by_plan
from physplan.video.sampling import Start


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What a guided video follows, and how."""

    chain: EventChain
    evidence: Evidence
    config: GuidanceConfig


def guide(
    model: VideoModel,
    conditioning: Conditioning,
    by: Guide,
    *,
    encoder: FeatureEncoder,
    depth: DepthEstimator,
    generator: torch.Generator,
    on_progress: OnProgress | None = None,
    checkpoint: Checkpoint | None = None,
    start: Start | None = None,
) -> GuidanceResult:
    """Sample the video's clean latents so that it goes through the states of `by.chain` (section 3.2).

    `generator` is the one `prepare` was given; the same seed gives the same latents. With `by.config.start`
    "sketch", `start` is the sketch (`physplan.sketch.start.sketch_start`), which guidance cannot make.
    """
    chain, evidence, config = by.chain, by.evidence, by.config
    _refuse_unequal(conditioning, chain, config, start)
    if config.noise_order == "frame_guidance":
        conditioning = frame_guidance_start(conditioning, generator)
    guided = any(config.schedule.repeats)
    if guided or start is not None:
        conditioning = led_by_plan(model, conditioning)
    size = preview_size(conditioning, config)
    objective = build_objective(
        config.losses if guided else (),
        chain,
        evidence,
        encoder=encoder,
        depth=depth,
        size=size,
        device=model.device,
        config=config.measure,
    )
    kept = KeepBystanders(chain, evidence, size=size, device=model.device) if config.keep and guided else None
    run = GuidedRun(
        model=model,
        conditioning=conditioning,
        objective=objective,
        anchors=chain.anchors,
        config=config,
        generator=generator,
        bystanders=kept,
        start=start,
    )
    return sample_watched(run, on_progress=on_progress, checkpoint=checkpoint)


def sample_watched(
    run: GuidedRun, *, on_progress: OnProgress | None = None, checkpoint: Checkpoint | None = None
) -> GuidanceResult:
    """`guided_sample` with its records; a callback's StopRun ends it with the clean estimate so far."""
    watch = Watch(run, on_progress=on_progress, checkpoint=checkpoint)
    try:
        latents = guided_sample(run, watch)
    except StopRun:
        latents, watch.ended = watch.clean, "stopped by request"
    return watch.result(latents)


def _refuse_unequal(
    conditioning: Conditioning, chain: EventChain, config: GuidanceConfig, start: Start | None
) -> None:
    if chain.num_frames != conditioning.layout.num_frames:
        raise PhysPlanError(
            f"The plan is for {chain.num_frames} frames, but the video has {conditioning.layout.num_frames}:"
            " plan again for that length."
        )
    if (config.start == "sketch") != (start is not None):
        raise PhysPlanError("A start from the sketch needs the sketch: pass it, or set start to noise.")


def preview_size(conditioning: Conditioning, config: GuidanceConfig) -> tuple[int, int]:
    """Height and width of decoded previews."""
    small = config.preview_downscale
    return conditioning.height // small, conditioning.width // small
