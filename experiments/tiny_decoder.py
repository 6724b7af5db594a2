"""Guidance through a small decoder, measured in the sandbox with one that is trained here in minutes.

    python -m experiments.tiny_decoder FILE --train 600              trains it and saves it as FILE
    python -m experiments.tiny_decoder FILE --scenes 400:404         its pictures, time, gradients
    python -m experiments.tiny_decoder FILE --scenes 400:410 --outcomes
    python -m experiments.tiny_decoder --real ltx-2 cogvideox-5b     memory and work at real shapes

The layout is TAEHV's (`physplan_models.tiny_decoder`), narrower. Scenes are of the validation split,
times CPU times. A cosine is that of g through the small decoder with g through the full one, at one latent.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from experiments.sketch_start import sampled
from physplan.guidance import Guide
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.gradients.direction import direction
from physplan.guidance.objective import build_objective
from physplan.guidance.previews import anchors_of
from physplan.guidance.repeat import anchor_windows
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.latents_stage import prepare
from physplan_bench.sandbox.measure import bystanders
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_models.tiny_decoder import Memory, TinyDecoder
from physplan_sandbox.components import load_video
from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.outcome import judge
from physplan_sandbox.train.autoencoder import noisy_latents, pixel_loss
from physplan_sandbox.train.data import training_clip
from physplan_sandbox.world.phenomena import scene

WIDTHS = (32, 24, 16, 16)
Decoder = Literal["full", "tiny"]
DECODERS: tuple[Decoder, ...] = ("full", "tiny")
STEPS = (0, 2, 4, 6, 8, 10, 12)  # of 14: where gradients are compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--train", type=int, metavar="STEPS")
    parser.add_argument("--clips", type=int, default=96, help="of the training split")
    parser.add_argument("--scenes", default="400:404")
    parser.add_argument("--outcomes", action="store_true")
    parser.add_argument("--real", nargs="+", default=[])
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.real:
        print(name, at_real_size(name), flush=True)
    if args.train:
        train(args.file, args.train, args.clips)
    elif args.file is not None:
        settings = [
            PreparedScene(scene=scene("validation", k), config=recipe(args.file)) for k in _range(args.scenes)
        ]
        outcomes(settings) if args.outcomes else compare(settings)


def recipe(file: Path) -> Any:
    return with_defaults(load_config("sandbox", {"video.files.tiny_decoder": str(file)}))


def _range(text: str) -> range:
    return range(*map(int, text.split(":")))


def train(file: Path, steps: int, clips: int, *, batch: int = 12) -> None:
    """On single frames, half of their latents noisy; blocks see nothing before a frame, as in a preview."""
    model: FrameAutoencoder = load_video().codec.autoencoder
    torch.manual_seed(0)
    network = TinyDecoder(channels=model.channels, spatial=6, times=(1, 1, 1), widths=WIDTHS, patch=3)
    for block in network.modules():
        if isinstance(block, Memory):
            block.forward = _alone(block)  # type: ignore[method-assign]
    videos = [_tensor(training_clip(k)[0].frames) for k in range(clips)]
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    rng = np.random.default_rng(0)
    for step in range(steps):
        drawn = [videos[k] for k in rng.integers(len(videos), size=batch)]
        frames = torch.stack([video[rng.integers(len(video))] for video in drawn])
        first = torch.stack([video[0] for video in drawn])
        latents = noisy_latents(model, frames, first, rng)
        shown = network(latents.transpose(0, 1)[None])
        loss = pixel_loss(2 * shown - 1, frames, first)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        rates.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss.item():.4f}  CPU {time.process_time():.0f} s", flush=True)
    save_file({name: one.contiguous() for name, one in network.state_dict().items()}, file)


def _alone(block: Memory) -> Any:
    def forward(x: Tensor) -> Tensor:
        return F.relu(block.conv(torch.cat([x, torch.zeros_like(x)], dim=1)) + x)

    return forward


def _tensor(frames: Any) -> Tensor:
    """[F, 3, H, W] in [-1, 1]."""
    return torch.tensor(frames).permute(0, 3, 1, 2).float() / 127.5 - 1


def compare(settings: Sequence[PreparedScene]) -> None:
    errors: list[tuple[float, float]] = []
    cosines: dict[tuple[str, int], list[float]] = {}
    spent = {"full": 0.0, "tiny": 0.0, "full repeat": 0.0, "tiny repeat": 0.0}
    for here in settings:
        model: Any = here.backends.video
        errors.append(pictures(here, model))
        for (mode, n), cosine in gradients(here, model, spent):
            cosines.setdefault((mode, n), []).append(cosine)
    full, tiny = (np.mean([one[k] for one in errors]) for k in (0, 1))
    print(f"dB to the true frames: full {full:.1f}, tiny {tiny:.1f}")
    for mode in ("direct", "fused"):
        row = "  ".join(f"{n}: {np.mean(cosines[mode, n]):.2f}" for n in STEPS if (mode, n) in cosines)
        print(f"cosine of {mode} by step, mean of {len(settings)} scenes  {row}")
    print("CPU seconds", {name: round(value, 2) for name, value in spent.items()})


@torch.no_grad()
def pictures(here: PreparedScene, model: Any) -> tuple[float, float]:
    """Peak signal to noise of both decoders on a true clip's latents."""
    frames = (_tensor(here.truth.frames) + 1) / 2
    latents = model.codec.encode_video((2 * frames - 1).transpose(0, 1)[None])
    shown = [model.codec.decode(latents)]
    shown.append(torch.cat([model.tiny.network(latents[:, :, k : k + 1]) for k in range(len(frames))]))
    both = [-10 * float((one.clamp(0, 1) - frames).square().mean().log10()) for one in shown]
    return both[0], both[1]


def gradients(
    here: PreparedScene, model: Any, spent: dict[str, float]
) -> Iterator[tuple[tuple[str, int], float]]:
    """Along an unguided run: g through either decoder, by mode and step."""
    config = here.config
    chain, evidence = here.drawn(1)
    generator = torch.Generator().manual_seed(0)
    run = model.undecided(prepare(model, config.video, here.picture, here.scene.prompt, generator))
    size = (run.height, run.width)
    objective = build_objective(
        ("terms",), chain, evidence, encoder=here.backends.encoder, depth=here.backends.depth, size=size,
        device=model.device, config=config.guidance.measure,
    )  # fmt: skip
    requests = anchors_of(objective, anchor_windows(model, run, chain.anchors, config.guidance))
    z = run.latents
    for n in range(run.noise.num_steps):
        for mode in ("direct", "fused") if n in STEPS else ():
            found = []
            for decoder in DECODERS:
                asked = replace(_mode(config.guidance, mode), decoder=decoder)
                begun = time.process_time()
                made = direction(model, run, z, n, requests=requests, config=asked, weighted=False)
                spent[f"{decoder} repeat"] += time.process_time() - begun
                spent[decoder] += made.decoding_seconds
                found.append(made.gradient.flatten())
            if all(one.any() for one in found):
                yield (mode, n), float(F.cosine_similarity(found[0], found[1], dim=0))
        with torch.no_grad():
            z = run.noise.step(z, model.predict(z, n, run), n)


def _mode(config: GuidanceConfig, mode: Any) -> GuidanceConfig:
    return replace(config.with_gradient(mode), combine_at="clean")


def outcomes(settings: Sequence[PreparedScene]) -> None:
    """Videos guided from noise by the sandbox's own `guidance`, through either decoder, one seed."""
    counts: dict[Decoder, list[tuple[bool, bool, float, float]]] = {name: [] for name in DECODERS}
    for here in settings:
        chain, evidence = here.drawn(1)
        idle = bystanders(here.scene, here.truth)
        for decoder, done in counts.items():
            config = replace(here.config.guidance, decoder=decoder)
            guide = Guide(chain=chain, evidence=evidence, config=config)
            frames, losses, seconds = sampled(here, here.config, guide, 0)
            shown = frames.permute(0, 2, 3, 1).clamp(0, 1).numpy()
            verdict = judge(here.scene, shown, uninvolved=idle)
            done.append((verdict.plausible, verdict.preserved, seconds, losses["repeats"]))
            print(here.scene.prompt, decoder, done[-1], flush=True)
    for decoder, done in counts.items():
        right = sum(plausible for plausible, *_ in done)
        kept = sum(plausible and preserved for plausible, preserved, *_ in done)
        seconds = float(np.mean([one[2] for one in done]))
        print(f"{decoder}: plausible {right}, and kept {kept} of {len(done)}; {seconds:.1f} s each")


def at_real_size(name: str) -> dict[str, float]:
    """GB and 10^12 multiplications of one preview and the way back: a window through either decoder."""
    from torch.utils.flop_counter import FlopCounterMode

    from physplan_models.memory import Allocated, Saved, parameters, published_on_meta, tiny_on_meta
    from physplan_models.published import PUBLISHED

    preset = PUBLISHED[name]
    model: Any = published_on_meta(preset)
    layout = model.check_size(height=preset.height, width=preset.width, num_frames=preset.num_frames)
    window = layout.window(layout.num_frames - 1, model.preview_length, model.preview_mode)
    ratio, tiny = model.codec.spatial_ratio, tiny_on_meta(model)
    size = (preset.height // ratio, preset.width // ratio)
    found: dict[str, float] = {}
    for called, decoder, network in (("full", model, model.codec.vae), ("tiny", tiny, tiny.network)):
        leaf = torch.empty(1, model.codec.channels, window.length, *size, device="meta", requires_grad=True)
        saved, counter = Saved(_weights(network)), FlopCounterMode(display=False)
        with Allocated(_weights(network)) as allocated, counter:
            with saved.counted():
                frame = decoder.decode_window(leaf, window)
            torch.autograd.grad(frame, leaf, torch.ones_like(frame))
        found |= {
            f"{called} GB": round(allocated.peak / 1e9, 2),
            f"{called} kept GB": round(saved.bytes / 1e9, 2),
            f"{called} 1e12": round(counter.get_total_flops() / 2e12, 2),
            f"{called} weights, million": round(sum(p.numel() for p in network.parameters()) / 1e6, 1),
        }
    assert parameters(model)
    return found


def _weights(network: nn.Module) -> list[Tensor]:
    return [*network.parameters(), *network.buffers()]


if __name__ == "__main__":
    main()
