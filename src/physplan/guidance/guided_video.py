"""One guided video of a plan: the objective from plan and evidence, then algorithm 1."""

from __future__ import annotations

import torch

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.guidance.bystanders import KeepBystanders
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.frame_guidance_noise import frame_guidance_start
from physplan.guidance.objective import build_objective
from physplan.guidance.records import GuidanceResult, OnProgress
from physplan.guidance.sampler import guided_sample
from physplan.guidance.still_latents import KeepLatents
from physplan.guidance.targets import resize
from physplan.perception.evidence import Evidence
from physplan.perception.protocol import DepthEstimator, FeatureEncoder
from physplan.video.checkpoint import Checkpoint
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import Start


def guide(
    model: VideoModel,
    conditioning: Conditioning,
    chain: EventChain,
    evidence: Evidence,
    *,
    encoder: FeatureEncoder,
    depth: DepthEstimator,
    config: GuidanceConfig,
    generator: torch.Generator,
    on_progress: OnProgress | None = None,
    checkpoint: Checkpoint | None = None,
    start: Start | None = None,
) -> GuidanceResult:
    """Sample the video's clean latents so that it goes through the states of `chain` (section 3.2).

    `generator` is the one `prepare` was given; the same seed gives the same latents. With `config.start`
    "sketch", `start` is the sketch (`physplan.sketch.sampling.sketch_start`), which guidance cannot make.
    """
    if chain.num_frames != conditioning.layout.num_frames:
        raise PhysPlanError(
            f"The plan is for {chain.num_frames} frames, but the video has {conditioning.layout.num_frames}:"
            " plan again for that length."
        )
    if (config.start == "sketch") != (start is not None):
        raise PhysPlanError("A start from the sketch needs the sketch: pass it, or set start to noise.")
    if config.noise_order == "frame_guidance":
        conditioning = frame_guidance_start(conditioning, generator)
    guided = any(config.schedule.repeats)
    small = config.preview_downscale
    size = (conditioning.height // small, conditioning.width // small)
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
    bystanders = (
        bystanders_of(model, conditioning, chain, evidence, config) if config.keep and guided else None
    )
    return guided_sample(
        model,
        conditioning,
        objective=objective,
        anchors=chain.anchors,
        config=config,
        generator=generator,
        bystanders=bystanders,
        on_progress=on_progress,
        checkpoint=checkpoint,
        start=start,
    )


def bystanders_of(
    model: VideoModel,
    conditioning: Conditioning,
    chain: EventChain,
    evidence: Evidence,
    config: GuidanceConfig,
) -> KeepBystanders | KeepLatents:
    """What no edit names, held to the first frame: frame by frame, or in all latents at once."""
    small, layout = config.preview_downscale, conditioning.layout
    size = (conditioning.height // small, conditioning.width // small)
    if config.keep_in == "pixels":
        return KeepBystanders(chain, evidence, size=size, device=model.device)
    grid = (conditioning.latents.shape[-2], conditioning.latents.shape[-1])
    first = resize(evidence.first.image.to(model.device), (conditioning.height, conditioning.width))
    still = model.encode_frames(first.expand(layout.num_frames, -1, -1, -1), layout)
    kept = KeepBystanders(chain, evidence, size=grid, device=model.device)
    return KeepLatents(kept, still, layout)
