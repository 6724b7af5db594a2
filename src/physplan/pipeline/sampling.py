"""The sampling stage over values: a picture, a sentence, a seed and what guides it in; clean latents out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance import GuidanceConfig, guide
from physplan.guidance.sampler import planned_repeats
from physplan.perception import Evidence
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, VideoConfig
from physplan.pipeline.events import Tell, say_nothing
from physplan.pipeline.sampling_progress import Clock, SamplingProgress
from physplan.sketch import Sketch, make_sketch
from physplan.sketch.sampling import Clocks, clocks_of, sample_from_sketch, sketch_start
from physplan.video.checkpoint import Checkpoint
from physplan.video.frames import FrameLayout
from physplan.video.given import GivenFrame, settle
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import sample


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What an unguided video lacks: where to go, and how."""

    chain: EventChain
    evidence: Evidence
    config: GuidanceConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampled:
    latents: Tensor  # clean [1, C, F, H, W]
    layout: FrameLayout
    losses: Mapping[str, Any]  # every term of every guided repeat, as JSON
    regions: Mapping[str, Tensor] = field(default_factory=dict)  # by the term's label: [h, w]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # of previews, backpropagation and sampling


def make_latents(
    config: Config,
    backends: Backends,
    frame: Image.Image,
    prompt: str,
    *,
    seed: int,
    guided_by: Guide | None = None,
    sketch: Sketch | None = None,
    keyframes: Sequence[GivenFrame] = (),
    tell: Tell = say_nothing,
    preview: Path | None = None,
    checkpoint: Checkpoint | None = None,
) -> Sampled:
    """`preview` is a picture that is refreshed on the way; from `checkpoint` a sampling that was cut off
    goes on. From a `sketch` it starts with the two clocks; guidance that wants one and is given none makes
    it. `keyframes` are given to a model that takes them, each at the nearest place it has."""
    model = backends.video
    generator = torch.Generator().manual_seed(seed)
    given, moved = _settled(model, config.video, keyframes)
    told = (*getattr(model, "notes", ()), *moved)
    conditioning = prepare(model, config.video, frame, prompt, generator, given)
    if guided_by is None:
        if sketch is None:
            latents = _unguided(model, conditioning, generator, tell, checkpoint)
        else:
            latents = sample_from_sketch(
                model,
                conditioning,
                sketch,
                clocks=unguided_clocks(config, model.name, conditioned=bool(keyframes)),
                on_step=_counted(conditioning, tell),
                generator=generator,
                checkpoint=checkpoint,
            )
        losses = {"ended": "finished", "skipped": {}, "repeats": 0, "planned_repeats": 0, "steps": []}
        return Sampled(latents=latents, layout=conditioning.layout, losses=losses, notes=told)
    chain, evidence, guidance = guided_by.chain, guided_by.evidence, guided_by.config
    start = None
    if guidance.start == "sketch":
        clocks = clocks_of(model.name, weak=guidance.weak, strong=guidance.strong)
        start = sketch_start(model, conditioning, sketch or make_sketch(chain, evidence), clocks)
    repeats = planned_repeats(guidance.schedule, conditioning.noise.num_steps, start)
    result = guide(
        model,
        conditioning,
        chain,
        evidence,
        encoder=backends.encoder,
        depth=backends.depth,
        config=guidance,
        generator=generator,
        on_progress=SamplingProgress(
            model, conditioning, chain, evidence, repeats, tell=tell, preview=preview
        ),
        checkpoint=checkpoint,
        start=start,
    )
    notes = list(told) + ([] if result.ended == "finished" else [f"sampling was {result.ended}"])
    notes += [f"{what} ({times} times)" for what, times in result.skipped().items()]
    return Sampled(
        latents=result.latents,
        layout=conditioning.layout,
        losses=result.to_json(),
        regions={label: region.cpu() for label, region in result.regions.items()},
        seconds=asdict(result.seconds),
        notes=tuple(notes),
    )


def unguided_clocks(config: Config, family: str, *, conditioned: bool) -> Clocks:
    """Of the method sketch, and of conditioned where that starts from the sketch."""
    weak, strong = config.sketch.weak, config.sketch.strong
    if conditioned:  # a family may have other noise levels there: the same share of steps is not the same
        own = config.conditioned
        weak = weak if own.weak is None else own.weak
        strong = strong if own.strong is None else own.strong
    return clocks_of(family, weak=weak, strong=strong)


def _settled(
    model: VideoModel, video: VideoConfig, keyframes: Sequence[GivenFrame]
) -> tuple[tuple[GivenFrame, ...], tuple[str, ...]]:
    if not keyframes:
        return (), ()
    size = {"height": video.height or 0, "width": video.width or 0, "num_frames": video.num_frames or 0}
    places = model.keyframe_places(model.check_size(**size))
    return settle(keyframes, places) if places else (tuple(keyframes), ())  # refused by the model, then


def prepare(
    model: VideoModel,
    video: VideoConfig,
    image: Image.Image,
    prompt: str,
    generator: torch.Generator,
    keyframes: Sequence[GivenFrame] = (),
) -> Conditioning:
    """A run with the settings of a config that has its defaults."""
    return model.prepare(
        image=image,
        prompt=prompt,
        negative_prompt=video.negative_prompt,
        height=video.height or 0,
        width=video.width or 0,
        num_frames=video.num_frames or 0,
        num_inference_steps=video.num_inference_steps or 0,
        guidance_scale=video.guidance_scale or 1.0,
        use_dynamic_cfg=bool(video.use_dynamic_cfg),
        eta=video.eta or 0.0,
        fps=video.fps,
        generator=generator,
        keyframes=keyframes,
    )


def _unguided(
    model: VideoModel,
    conditioning: Conditioning,
    generator: torch.Generator,
    tell: Tell,
    checkpoint: Checkpoint | None,
) -> Tensor:
    on_step = _counted(conditioning, tell)
    return sample(model, conditioning, on_step, generator=generator, checkpoint=checkpoint)


def _counted(conditioning: Conditioning, tell: Tell) -> Callable[[int, Tensor, Tensor], None]:
    """Says after each step how many are done."""
    total = conditioning.noise.num_steps
    clock = Clock(repeats=0, steps=total)

    def on_step(n: int, latents: Tensor, clean: Tensor) -> None:
        clock.skip(steps=n)
        clock.tick("step")
        tell(f"step {n + 1} of {total}", done=n + 1, total=total, remaining=clock.remaining())

    return on_step
