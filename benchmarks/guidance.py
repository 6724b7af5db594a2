"""What one guided repeat costs, and one video: CPU time and saved activations, method by method.

    make bench-guidance            (or: python -m benchmarks.guidance --rounds 9 --model cogvideox)
    python -m benchmarks.guidance --videos          (the tables of videos alone)

All methods and event counts take turns, round by round, in one process on one thread; medians are printed.
The tiny CogVideoX has the proportion that decides the outcome from the real one: a denoiser's batch of two
costs as much as some ten decoded windows (in CogVideoX-I2V-5B 664 and 58.8 TFLOP: eleven).
What keyframes given to LTX and VACE cost: `experiments/given_frames.py`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from PIL import Image

from benchmarks.timed import busy_plan, medians, step_of
from physplan.errors import PhysPlanError
from physplan.guidance import FRAME_GUIDANCE, GuidanceConfig, build_objective
from physplan.guidance.config import MeasureConfig
from physplan.guidance.extensions.bystanders import KeepBystanders
from physplan.guidance.gradients.direction import Direction, direction
from physplan.guidance.guided_video import preview_size
from physplan.guidance.previews import PreviewRequest, anchors_of
from physplan.guidance.repeat import anchor_windows, events_of, window_of
from physplan.guidance.schedule import Schedule
from physplan.guidance.watch import planned_repeats
from physplan.perception import DepthEstimator, Evidence, FeatureEncoder
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.sketch import make_sketch
from physplan.sketch.start import SketchStart, clocks_of, sketch_start
from physplan.video.protocol import Conditioning, VideoModel, VideoRequest
from physplan_testing.pictures import ColourFeatures, ground_depth
from physplan_testing.saved_bytes import peak_saved_bytes

EVENTS = (1, 3, 5, 7)
FAST = GuidanceConfig(gradient="fused", combine_at="features", unconditional_grad=False)
KEPT = replace(FAST, events_per_repeat=1, keep=True, measure=MeasureConfig(count="named"))
METHODS = {
    "frame_guidance": FRAME_GUIDANCE,
    "exact": GuidanceConfig(),
    "fused": FAST,
    "direct": FAST.with_gradient("direct"),
    "fused, by turns": replace(FAST, events_per_repeat=1),
    "direct, by turns": replace(FAST.with_gradient("direct"), events_per_repeat=1),
    "fused, turns, keep": KEPT,
    "direct, turns, keep": KEPT.with_gradient("direct"),
    "fused, terms apart": GuidanceConfig(gradient="fused"),
}


TURNS = replace(FAST, events_per_repeat=1)
KEPT_TURNS = replace(TURNS, keep=True)


def ways() -> dict[str, GuidanceConfig]:
    """What each step to a faster video is worth, every line added to the one above; last, a preset."""
    fewer = Schedule.linear(repeats=7)  # 98, Frame Guidance has 95
    return {
        "frame_guidance": FRAME_GUIDANCE,
        "fused": replace(FAST, unconditional_grad=True),
        "+ unconditional without gradient": FAST,
        "+ events by turns": TURNS,
        "+ keep": KEPT_TURNS,
        "+ previews at half size": replace(KEPT_TURNS, preview_downscale=2),
        "or as few repeats as Frame Guidance": replace(KEPT_TURNS, schedule=fewer),
        "preset best": load_config("best").guided_sketch,
    }


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A model with all that a guided repeat needs."""

    name: str
    model: VideoModel
    encoder: FeatureEncoder
    depth: DepthEstimator
    size: tuple[int, int]
    num_frames: int
    guidance_scale: float = 6.0
    steps: int = 50
    turns: tuple[int, ...] = (0,)  # the steps from which on another network is asked
    videos: Mapping[str, GuidanceConfig]  # the rows of the table of videos

    @property
    def samples(self) -> dict[int, int]:
        """A step in which to measure each network: its third, by the step from which on it is asked."""
        return {first: first + 2 for first in self.turns}

    def asked_at(self, n: int) -> int:
        """The step that stands for step n."""
        return self.samples[max(first for first in self.turns if first <= n)]


def tiny_cogvideox() -> Bench:
    """Random weights of the real classes; see the module's docstring for its proportions."""
    from diffusers import AutoencoderKLCogVideoX, CogVideoXDDIMScheduler, CogVideoXTransformer3DModel

    from physplan.video.gradient_checkpointing import Checkpointing
    from physplan_models.families.cogvideox import CogVideoX, CogVideoXCodec

    torch.manual_seed(0)
    transformer = CogVideoXTransformer3DModel(
        num_attention_heads=8,
        attention_head_dim=64,
        in_channels=8,
        out_channels=4,
        num_layers=16,
        sample_width=4,
        sample_height=4,
        sample_frames=49,
        text_embed_dim=32,
        time_embed_dim=64,
        max_text_seq_length=16,
        use_rotary_positional_embeddings=True,
    )
    vae = AutoencoderKLCogVideoX(
        down_block_types=("CogVideoXDownBlock3D",) * 4,
        up_block_types=("CogVideoXUpBlock3D",) * 4,
        block_out_channels=(4, 4, 8, 8),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=2,
        sample_height=32,
        sample_width=32,
    )
    for module in (transformer, vae):
        module.eval().requires_grad_(False)
    scheduler = CogVideoXDDIMScheduler(
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        clip_sample=False,
    )
    model = CogVideoX(
        transformer=transformer,
        scheduler=scheduler,
        codec=CogVideoXCodec(vae),
        encode_text=lambda prompts: torch.zeros(len(prompts), 16, 32),
    )
    # As the loader does by default: the real one does not fit without it.
    model.denoiser_checkpointing, model.codec_checkpointing = Checkpointing(transformer), Checkpointing(vae)
    return Bench(
        name="tiny CogVideoX",
        model=model,
        encoder=ColourFeatures(channels=64),
        depth=ground_depth,
        size=(32, 32),
        num_frames=49,
        videos=ways(),
    )


def sandbox() -> Bench:
    from physplan_sandbox.components import load_depth, load_encoder, load_video
    from physplan_sandbox.models.outline import HANDOFF_TIMESTEP
    from physplan_sandbox.video import VIDEO_SIZE
    from physplan_sandbox.world.render import FRAMES

    config = with_defaults(load_config("sandbox"))
    model, steps = load_video(), config.video.num_inference_steps or 20
    model.scheduler.set_timesteps(steps)
    return Bench(
        name="sandbox",
        model=model,
        encoder=load_encoder(),
        depth=load_depth(),
        size=(VIDEO_SIZE, VIDEO_SIZE),
        num_frames=FRAMES,
        guidance_scale=config.video.guidance_scale or 1.0,
        steps=steps,
        turns=(0, sum(int(t) >= HANDOFF_TIMESTEP for t in model.scheduler.timesteps)),
        videos={"frame_guidance": config.frame_guidance, "preset sandbox": config.guided_sketch},
    )


MODELS: dict[str, Callable[[], Bench]] = {"cogvideox": tiny_cogvideox, "sandbox": sandbox}


def prepared(bench: Bench, evidence: Evidence) -> Conditioning:
    pixels = (evidence.first.image.permute(1, 2, 0) * 255).byte().numpy()
    return bench.model.prepare(
        VideoRequest(
            image=Image.fromarray(pixels),
            prompt="a ball rolls, a log burns, a balloon grows",
            height=bench.size[0],
            width=bench.size[1],
            num_frames=bench.num_frames,
            num_inference_steps=bench.steps,
            guidance_scale=bench.guidance_scale,
            generator=torch.Generator().manual_seed(0),
        )
    )


def repeat_of(bench: Bench, events: int, config: GuidanceConfig, step: int) -> Callable[[], Direction]:
    """One guided repeat, ready to run."""
    chain, evidence = busy_plan(events, bench.num_frames, bench.size)
    conditioning = prepared(bench, evidence)
    objective = build_objective(
        config.losses,
        chain,
        evidence,
        encoder=bench.encoder,
        depth=bench.depth,
        size=(bench.size[0] // config.preview_downscale, bench.size[1] // config.preview_downscale),
        device=bench.model.device,
        config=config.measure,
    )
    windows = events_of(
        0, anchor_windows(bench.model, conditioning, chain.anchors, config), config.events_per_repeat
    )
    requests = anchors_of(objective, windows)
    if config.keep:
        size = preview_size(conditioning, config)
        bystanders = KeepBystanders(chain, evidence, size=size, device=bench.model.device)
        frame, event = bystanders.turn(0)
        window = window_of(bench.model, conditioning, frame, config)
        requests.append(PreviewRequest(objective=bystanders, event=event, window=window, anchor=False))

    def once() -> Direction:
        return direction(
            bench.model,
            conditioning,
            conditioning.latents,
            step,
            requests=requests,
            config=config,
            weighted=True,
        )

    return once


def _append(found: list[Direction], run: Callable[[], Direction]) -> None:
    found.append(run())


def measure(bench: Bench, rounds: int, step: int) -> None:
    runs = {(name, k): repeat_of(bench, k, config, step) for name, config in METHODS.items() for k in EVENTS}
    kept, active = {}, {}
    for key, run in runs.items():
        found: list[Direction] = []
        kept[key] = peak_saved_bytes(partial(_append, found, run))
        events = len(found[0].previews)
        active[key] = sum(term.gradient_norm is not None for term in found[0].terms) / events
    seconds: dict[tuple[str, int], list[float]] = {key: [] for key in runs}
    for turn in range(rounds):
        for key, run in runs.items():
            if key[0] == "exact" and turn % 3:  # slow, so a third of the rounds must do
                continue
            start = time.process_time()
            run()
            seconds[key].append(time.process_time() - start)
    median = {key: statistics.median(values) for key, values in seconds.items()}
    print(f"\n{bench.name}, step {step}: one guided repeat, median of {rounds}")
    print("CPU milliseconds / MB saved for backward")
    print(f"{'':20}" + "".join(f"{f'K = {k}':>18}" for k in EVENTS) + "   active terms an anchor")
    for name in METHODS:
        cells = "".join(f"{1e3 * median[name, k]:9.0f} / {kept[name, k] / 1e6:6.1f}" for k in EVENTS)
        print(f"{name:20}{cells}   {statistics.mean(active[name, k] for k in EVENTS):.1f}")
    print(f"\n{'':20}{'time at K = 3':>16}{'per added event':>18}{'bytes, K = 7 / 1':>18}")
    for name in METHODS:
        added = (median[name, 7] - median[name, 1]) / 6 / median[name, 1]
        ratio = median[name, 3] / median["frame_guidance", 3]
        flat = kept[name, 7] / kept[name, 1]
        print(f"{name:20}{f'{ratio:.2f} x FG':>16}{added:18.1%}{flat:18.2f}")


def measure_videos(bench: Bench, rounds: int) -> None:
    """A video's time from the medians of its parts: repeats of its schedule, steps, and its sketch.

    Of a run that ends when every term is satisfied all repeats are counted: random weights satisfy none.
    """
    chain, evidence = busy_plan(3, bench.num_frames, bench.size)
    conditioning = prepared(bench, evidence)

    def started(config: GuidanceConfig) -> SketchStart:
        clocks = clocks_of(bench.model, weak=config.weak, strong=config.strong)
        return sketch_start(bench.model, conditioning, make_sketch(chain, evidence), clocks)

    runs: dict[str, Callable[[], object]] = {
        f"{name} {n}": repeat_of(bench, 3, config, n)
        for name, config in bench.videos.items()
        for n in bench.samples.values()
    }
    steps = {f"step {n}": step_of(bench.model, conditioning, n) for n in bench.samples.values()}
    median = medians({**runs, **steps, "sketch": partial(started, GuidanceConfig(start="sketch"))}, rounds)
    every = [median[f"step {bench.asked_at(n)}"] for n in range(bench.steps)]
    rows = {"unguided": ("", 0, sum(every))}
    alone = replace(FAST, start="sketch", schedule=Schedule.unguided())
    for name, config in {"sketch": alone, **bench.videos}.items():
        start = started(config) if config.start == "sketch" else None
        repeats = planned_repeats(config.schedule, bench.steps, start)
        guided = [k * median[f"{name} {bench.asked_at(n)}"] for n, k in enumerate(repeats) if k]
        total = sum(every[start.first if start else 0 :]) + (median["sketch"] if start else 0.0) + sum(guided)
        each = f"{1e3 * sum(guided) / sum(repeats):.0f} ms" if guided else ""
        rows[name] = (each, sum(repeats), total)
    unguided, theirs = rows["unguided"][2], rows["frame_guidance"][2]
    print(f"\n{bench.name}: one video, K = 3, {bench.steps} steps, CPU seconds from medians of {rounds}")
    print(f"{'':36}{'a repeat':>10}{'repeats':>9}{'a video':>9}{'x FG':>7}{'x unguided':>12}")
    for name, (each, count, total) in rows.items():
        print(f"{name:36}{each:>10}{count:9}{total:9.1f}{total / theirs:7.2f}{total / unguided:12.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--videos", action="store_true", help="the tables of videos alone")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for name in MODELS if chosen.model == "all" else [chosen.model]:
        try:
            bench = MODELS[name]()
        except PhysPlanError as error:
            print(f"\n{name} is left out: {error}")
            continue
        if not chosen.videos:
            for step in bench.samples.values():
                measure(bench, chosen.rounds, step)
        measure_videos(bench, chosen.rounds)


if __name__ == "__main__":
    main()
