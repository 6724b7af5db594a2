"""The sampling stage over values: (picture, sentence, seed, guidance) -> clean latents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from physplan.guidance.guided_video import Guide, guide
from physplan.guidance.watch import planned_repeats
from physplan.perception import Evidence
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, VideoConfig
from physplan.pipeline.events import Tell, say_nothing
from physplan.pipeline.sampling_progress import Clock, SamplingProgress
from physplan.pipeline.step_callback import StepCallback
from physplan.sketch import Sketch, make_sketch
from physplan.sketch.compose import aligned_evidence
from physplan.sketch.registry import layers_of
from physplan.sketch.start import clocks_of, sketch_start
from physplan.video.checkpoint import Checkpoint
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout
from physplan.video.keyframe_conditioning import GivenFrame, settle
from physplan.video.protocol import Conditioning, VideoModel, VideoRequest, led_by_plan
from physplan.video.sampling import sample


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampled:
    latents: Tensor  # clean [1, C, F, H, W]
    layout: FrameLayout
    losses: Mapping[str, Any]  # every term of every guided repeat, as JSON
    regions: Mapping[str, Tensor] = field(default_factory=dict)  # by the term's label: [h, w]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # of previews, backpropagation and sampling


@dataclass(frozen=True, kw_only=True, eq=False)
class SamplingRequest:
    """One video to sample. Without `guided_by` no gradient is taken."""

    config: Config
    backends: Backends
    frame: Image.Image
    prompt: str
    seed: int
    guided_by: Guide | None = None
    sketch: Sketch | None = None  # the start, with the two clocks; guidance that wants one makes it
    keyframes: Sequence[GivenFrame] = ()  # for a model that takes them, each at the nearest place it has
    tell: Tell = say_nothing
    preview: Path | None = None  # a picture that is refreshed after each step
    checkpoint: Checkpoint | None = None  # from it a sampling that was cut off continues
    callback: StepCallback | None = None  # called after each step


def make_latents(request: SamplingRequest) -> Sampled:
    model, video = request.backends.video, request.config.video
    generator = torch.Generator().manual_seed(request.seed)
    given, moved = _settled(model, video, request.keyframes)
    conditioning = prepare(model, video, request.frame, request.prompt, generator, given)
    if request.callback is not None:
        conditioning = replace(conditioning, step_end=request.callback.after(conditioning.timesteps))
    sampling = _Sampling(request=request, conditioning=conditioning, generator=generator)
    made = sampling.unguided() if request.guided_by is None else sampling.guided(request.guided_by)
    return replace(made, notes=(*getattr(model, "notes", ()), *moved, *made.notes))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sampling:
    """A sampling whose model and conditioning are ready."""

    request: SamplingRequest
    conditioning: Conditioning
    generator: torch.Generator

    def unguided(self) -> Sampled:
        request = self.request
        model, on_step = request.backends.video, _counted(self.conditioning, request.tell)
        if request.preview is not None and (tiny := getattr(model, "tiny", None)) is not None:
            on_step = tiny.shown(on_step, self.conditioning.layout, request.preview)
        start, conditioning = None, self.conditioning
        if request.sketch is not None:
            clocks = unguided_clocks(request.config, model, conditioned=bool(request.keyframes))
            start = sketch_start(model, conditioning, request.sketch, clocks)
            conditioning = led_by_plan(model, conditioning)
        latents = sample(
            model, conditioning, on_step, generator=self.generator, checkpoint=request.checkpoint, start=start
        )
        losses = {"ended": "finished", "skipped": {}, "repeats": 0, "planned_repeats": 0, "steps": []}
        return Sampled(latents=latents, layout=self.conditioning.layout, losses=losses)

    def guided(self, by: Guide) -> Sampled:
        request, chain, config = self.request, by.chain, by.config
        model = request.backends.video
        start = None
        if config.start == "sketch":
            clocks = clocks_of(model, weak=config.weak, strong=config.strong)
            sketch = request.sketch or make_sketch(chain, by.evidence)
            start = sketch_start(model, self.conditioning, sketch, clocks)
        repeats = planned_repeats(config.schedule, self.conditioning.noise.num_steps, start)
        watched = SamplingProgress(
            model, self.conditioning, chain, by.evidence, repeats, tell=request.tell, preview=request.preview
        )
        result = guide(
            model,
            self.conditioning,
            replace(by, evidence=held_against(by, request.config)),
            encoder=request.backends.encoder,
            depth=request.backends.depth,
            generator=self.generator,
            on_progress=watched,
            checkpoint=request.checkpoint,
            start=start,
        )
        notes = [] if result.ended == "finished" else [f"sampling was {result.ended}"]
        notes += [f"{what} ({times} times)" for what, times in result.skipped().items()]
        return Sampled(
            latents=result.latents,
            layout=self.conditioning.layout,
            losses=result.to_json(),
            regions={label: region.cpu() for label, region in result.regions.items()},
            seconds=asdict(result.seconds),
            notes=tuple(notes),
        )


def held_against(by: Guide, config: Config) -> Evidence:
    """The keyframes of guidance: as drawn, laid over the first frame, or composed, with the run's layers."""
    if by.config.keyframes == "raw":
        return by.evidence
    composed = by.config.keyframes == "composed"
    source = layers_of(config) if composed else None
    return aligned_evidence(by.chain, by.evidence, composed=composed, source=source)


def unguided_clocks(config: Config, model: Any, *, conditioned: bool) -> Clocks:
    """Of the method sketch, and of conditioned where that starts from the sketch."""
    weak, strong = config.sketch.weak, config.sketch.strong
    if conditioned:  # a family may have other noise levels there: the same share of steps is not the same
        own = config.conditioned
        weak = weak if own.weak is None else own.weak
        strong = strong if own.strong is None else own.strong
    return clocks_of(model, weak=weak, strong=strong)


def _settled(
    model: VideoModel, video: VideoConfig, keyframes: Sequence[GivenFrame]
) -> tuple[tuple[GivenFrame, ...], tuple[str, ...]]:
    if not keyframes:
        return (), ()
    clip = video.clip
    layout = model.check_size(height=clip.height, width=clip.width, num_frames=clip.num_frames)
    places = model.keyframe_places(layout)
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
    clip, sampling = video.clip, video.sampling
    return model.prepare(
        VideoRequest(
            image=image,
            prompt=prompt,
            negative_prompt=video.negative_prompt,
            height=clip.height,
            width=clip.width,
            num_frames=clip.num_frames,
            num_inference_steps=sampling.num_inference_steps,
            guidance_scale=sampling.guidance_scale,
            use_dynamic_cfg=sampling.use_dynamic_cfg,
            eta=sampling.eta,
            fps=clip.fps,
            generator=generator,
            keyframes=keyframes,
        )
    )


def _counted(conditioning: Conditioning, tell: Tell) -> Callable[[int, Tensor, Tensor], None]:
    """Says after each step how many are done."""
    total = conditioning.noise.num_steps
    clock = Clock(repeats=0, steps=total)

    def on_step(n: int, latents: Tensor, clean: Tensor) -> None:
        clock.skip(steps=n)
        clock.tick("step")
        tell(f"step {n + 1} of {total}", done=n + 1, total=total, remaining=clock.remaining())

    return on_step
