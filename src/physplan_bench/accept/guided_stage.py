"""Stage 4: one guided repeat on the real weights: its gradient, its step, its memory and time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.gradients.direction import Direction, direction
from physplan.guidance.objective import build_objective
from physplan.guidance.previews import anchors_of
from physplan.guidance.repeat import anchor_windows
from physplan.methods import find
from physplan.pipeline.forecast import memory_request
from physplan.pipeline.latents_stage import prepare
from physplan.presets.acceptance_figures import accepted_figures
from physplan.runs import PeakMemory, layout
from physplan.video.known import video_model
from physplan_bench.accept.context import PROMPT, Acceptance
from physplan_bench.accept.findings import Finding, Level, StageResult, checked, judged, skipped
from physplan_bench.accept.library import SEED

TOLERANCE = 0.15  # share off an estimate of memory or time, beyond which it is a warning
STEP = (0.2, 1.0)  # of the latent's norm: pass, warning


def repeat(here: Acceptance) -> StageResult:
    if not here.samples:
        return skipped(4, "gradient", "no published video model is part of this preset")
    return StageResult(stage=4, findings=list(_repeated(here)))


def _repeated(here: Acceptance) -> Iterator[Finding]:
    own = here.config.guidance
    found: dict[str, Direction] = {}
    norm, seconds, peak = 0.0, 0.0, None
    for mode in ("fused", "exact", "direct"):
        memory, begun = PeakMemory(here.config.runtime.device), time.monotonic()
        try:
            found[mode], norm = measured(here, replace(own, gradient=mode))
        except (PhysPlanError, torch.OutOfMemoryError) as error:
            reason = str(error).splitlines()[0]
            level = "failure" if mode == own.gradient else "warning"
            yield Finding(name=f"gradient {mode}", level=level, meaning=reason)  # type: ignore[arg-type]
            continue
        if mode == own.gradient:
            seconds, peak = time.monotonic() - begun, memory.bytes()
    if own.gradient in found:
        yield from _sane(found[own.gradient], norm, own)
        yield from _alike(found, own.gradient)
        yield from _cost(here, seconds, peak)


def measured(here: Acceptance, config: GuidanceConfig) -> tuple[Direction, float]:
    """The direction of one repeat at the first guided step, and the latent's norm."""
    video, model = here.config.video, here.model
    evidence = layout.load_evidence(here.states)
    size = (video.clip.width, video.clip.height)
    picture = here.picture.resize(size, Image.Resampling.LANCZOS)
    generator = torch.Generator().manual_seed(SEED)
    conditioning = prepare(model, video, picture, PROMPT, generator)
    small = config.preview_downscale
    objective = build_objective(
        config.losses,
        here.chain,
        evidence,
        encoder=here.pp.backends.encoder,
        depth=here.pp.backends.depth,
        size=(conditioning.height // small, conditioning.width // small),
        device=model.device,
        config=config.measure,
    )
    windows = anchor_windows(model, conditioning, here.chain.anchors, config)
    z, requests = conditioning.latents, anchors_of(objective, windows)
    found = direction(model, conditioning, z, 0, requests=requests, config=config, weighted=True)
    return found, float(z.norm())


def _sane(found: Direction, norm: float, config: GuidanceConfig) -> Iterator[Finding]:
    finite = bool(torch.isfinite(found.gradient).all())
    some = bool(found.gradient.any())
    overflows = "it overflows: choose another video.dtype, or gradient direct"
    yield checked("gradient is finite", finite, overflows)
    if finite:
        none = "no term has a gradient: every term is satisfied, or nothing was found"
        norm_of_gradient = round(float(found.gradient.norm()), 4)
        yield checked("gradient's norm", some, none, value=norm_of_gradient, level="warning")
        yield judged(
            "step, share of the latent's norm",
            config.step_size * float(found.gradient.norm()) / max(norm, 1e-12),
            good=STEP[0],
            bad=STEP[1],
            meaning="one repeat would move the latents far off: lower guidance.step_size",
        )


def _alike(found: dict[str, Direction], own: str) -> Iterator[Finding]:
    """`fused` and `direct` should point where `exact` does."""
    if "exact" not in found or not bool(found["exact"].gradient.any()):
        return
    wanted = found["exact"].gradient
    for mode, least in (("fused", 0.5), ("direct", 0.0)):
        if mode not in found or not bool(torch.isfinite(found[mode].gradient).all()):
            continue
        cosine = _cosine(found[mode].gradient, wanted)
        level: Level = "failure" if mode == own else "warning"
        fault = f"{mode} leads elsewhere than the terms: use gradient exact"
        yield checked(
            f"cosine of {mode} with exact", cosine > least, fault, value=round(cosine, 4), level=level
        )


def _cosine(a: Tensor, b: Tensor) -> float:
    return float(F.cosine_similarity(a.flatten().float().cpu(), b.flatten().float().cpu(), dim=0))


def _cost(here: Acceptance, seconds: float, peak: int | None) -> Iterator[Finding]:
    config = here.config
    yield Finding(name="seconds of one repeat", level="pass", value=round(seconds, 2))
    yield from _time_off(here, seconds)
    request = memory_request(config, find("physplan"), len(here.chain.events))
    needed = video_model(config.video.model).memory(config.video, request)
    if peak is None or needed is None:
        return
    yield Finding(name="memory of one repeat, GB", level="pass", value=round(peak / 1e9, 2))
    if not config.runtime.device.startswith("cuda") or config.video.source is not None:
        return  # the process counts itself on a CPU; of another source's networks nothing was estimated
    yield _off("memory off the estimate, share", peak / needed.peak - 1)


def _time_off(here: Acceptance, seconds: float) -> Iterator[Finding]:
    """Against what was accepted on a card like this one: of others no time is estimated."""
    device = here.config.runtime.device
    if not device.startswith("cuda") or here.config.video.source is not None:
        return
    known = accepted_figures(here.config.preset, [torch.cuda.get_device_name(device)])
    if known is not None and known.get("repeat_seconds"):
        yield _off("seconds off the accepted figure, share", seconds / known["repeat_seconds"] - 1)


def _off(name: str, share: float) -> Finding:
    fault = "doctor's figure is wrong for this card: send this file"
    return checked(name, abs(share) <= TOLERANCE, fault, value=round(share, 3), level="warning")
