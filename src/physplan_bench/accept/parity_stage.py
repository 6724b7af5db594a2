"""Stage 2: our sampler, codec and previews on the real weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from PIL import Image
from torch import Tensor

from physplan.pictures import to_tensor
from physplan.pipeline.latents_stage import prepare
from physplan.video.protocol import Conditioning
from physplan.video.sampling import sample
from physplan_bench.accept.context import PROMPT, Acceptance
from physplan_bench.accept.findings import Finding, StageResult, checked, judged, skipped
from physplan_bench.accept.library import SEED, library_latents

STEPS = 8
LATENTS = {"fp32": (1e-3, 1e-2), "bf16": (0.02, 0.1), "fp16": (0.02, 0.1)}  # relative: pass, warning
PREVIEW = (0.01, 0.03)  # of brightness, mean over a frame


def compare(here: Acceptance) -> StageResult:
    if not here.samples:
        return skipped(2, "parity", "no published video model is part of this preset")
    return StageResult(stage=2, findings=list(_sampled(here)))


def _sampled(here: Acceptance) -> Iterator[Finding]:
    video = replace(
        here.config.video, num_inference_steps=min(STEPS, here.config.video.num_inference_steps or STEPS)
    )
    picture = here.picture.resize((video.clip.width, video.clip.height), Image.Resampling.LANCZOS)
    steps, device = video.num_inference_steps or STEPS, here.config.runtime.device
    offload = here.config.runtime.offload != "none" and device.startswith("cuda")
    theirs = library_latents(video, picture, PROMPT, steps=steps, device=device, offload=offload)
    first, conditioning = _ours(here, video, picture)
    kept = conditioning.layout.num_latents - conditioning.layout.behind
    finite = bool(torch.isfinite(first).all())
    overflow = f"our latents overflow in {video.dtype}: choose another video.dtype"
    yield checked("latents are finite", finite, overflow)
    if not finite:
        return
    apart = relative(first[:, :, :kept].cpu(), theirs)
    good, bad = LATENTS[video.dtype or "fp32"]
    yield judged(
        "latents off the library's pipeline, share of their norm",
        apart,
        good=good,
        bad=bad,
        meaning="our sampler and the library's differ on these weights: videos of one seed are not the same",
    )
    again, _ = _ours(here, video, picture)
    yield judged(
        "two runs of one seed apart, share of their norm",
        relative(again, first),
        good=0.0,
        bad=1e-3,
        meaning="runs are not repeated bit by bit here: a continued run is another run",
    )
    yield from _codec(here, picture, conditioning)
    yield from previews(here, first, conditioning)


def _ours(here: Acceptance, video: object, picture: Image.Image) -> tuple[Tensor, Conditioning]:
    generator = torch.Generator().manual_seed(SEED)
    conditioning = prepare(here.model, video, picture, PROMPT, generator)  # type: ignore[arg-type]
    return sample(here.model, conditioning, generator=generator), conditioning


def relative(found: Tensor, wanted: Tensor) -> float:
    """Of different shapes: wholly apart."""
    if found.shape != wanted.shape:
        return float("inf")
    return float((found.cpu() - wanted.cpu()).norm() / wanted.norm().clamp_min(1e-12))


def _codec(here: Acceptance, picture: Image.Image, conditioning: Conditioning) -> Iterator[Finding]:
    """A still clip through encoder and decoder: random weights give noise, published ones the picture."""
    layout = conditioning.layout
    still = to_tensor(picture).expand(layout.num_frames, -1, -1, -1)
    latents = here.model.encode_frames(still, layout)
    back = here.model.decode(latents, layout).cpu()
    level = latents[:, :, layout.video].std()
    finite = bool(torch.isfinite(back).all()) and back.shape == still.shape
    overflow = "the autoencoder overflows in this precision, or gives another size"
    yield checked("encoder and decoder round trip is finite", finite, overflow)
    yield Finding(name="latents' deviation", level="pass", value=round(float(level), 3))
    if finite:
        noise = float((back - still).square().mean().clamp_min(1e-12))
        psnr = -10 * math.log10(noise)
        lost = "the picture does not come back: wrong scaling, or untrained weights"
        yield checked("round trip, dB", psnr >= 20, lost, value=round(psnr, 1), level="warning")


def previews(here: Acceptance, latents: Tensor, conditioning: Conditioning) -> Iterator[Finding]:
    """The windows that guidance looks through, at the plan's anchors, against the full decode."""
    model, layout = here.model, conditioning.layout
    whole = model.decode(latents, layout)
    last = layout.num_frames - 1
    anchors = sorted({last // 2, last})
    worst, shifted = 0.0, []
    for frame in anchors:
        window = layout.window(frame, model.preview_length, model.preview_mode)
        clean = latents[:, :, window.latents].detach().requires_grad_()
        with torch.enable_grad():
            shown = model.decode_window(clean, window)
        tiles = bool(getattr(getattr(model.codec, "vae", None), "use_tiling", False))
        if tiles:
            yield Finding(
                name="previews are decoded whole",
                level="failure",
                meaning="the decoder tiles under gradient: seams enter the terms, and gradients stop at them",
            )
        offs = {
            other: float((shown.detach().clamp(0, 1) - whole[other]).abs().mean())
            for other in range(max(0, frame - 2), min(last, frame + 2) + 1)
        }
        worst = max(worst, offs[frame])
        nearest = min(offs, key=lambda other: offs[other])
        if offs[frame] > 1e-3 and offs[nearest] < 0.5 * offs[frame]:
            shifted.append(f"frame {frame} shows {nearest}")
    fault = "; ".join(shifted) + ": a window is off, terms look at the wrong time"
    yield checked("previews show their own frame", not shifted, fault)
    yield judged(
        "previews off the full decode, mean brightness",
        worst,
        good=PREVIEW[0],
        bad=PREVIEW[1],
        meaning="guidance sees other pictures than the video will show: choose a longer preview window",
    )
