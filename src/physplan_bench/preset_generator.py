"""A preset or a config file as the generator of a benchmark's videos: any method, a run for each case.

A run's folder lies in its case's (`run/`): a killed one resumes there, nothing is paid twice, and
`physplan evaluate cost` and `failures` read what it left.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock
from PIL.Image import Image

from physplan.errors import PhysPlanError
from physplan_bench.generation import FitWhole, GenerationConfig, Generator
from physplan_bench.resample import check_length
from physplan_bench.shared_budget import require_total

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.config import Config, Source


def use_preset(
    source: Source,
    *,
    method: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int = 0,
    size: tuple[int, int] | None = None,
    fit: FitWhole = "stretch",
    seconds: float | None = None,
    fps: float | None = None,
    shared: Path | None = None,
) -> tuple[Callable[[], Generator], GenerationConfig]:
    """What `generate` needs for a preset. What no case could do is refused here, before the first begins.

    `shared` is a folder for plans, keyframes and evidence that several methods take over. Where only the
    first `seconds` are scored, plans end there.
    """
    from physplan.methods import find
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.requirements import check_names
    from physplan.pipeline.run import check_guidance, refuse_void_guidance
    from physplan.reasoning.registry import REASONERS

    changes = dict(overrides or {})
    if "video.fit" in changes:
        raise PhysPlanError(
            "Give --fit instead of --set video.fit: a benchmark's first frame is not cropped."
        )
    if size is not None:
        changes |= {"video.height": size[0], "video.width": size[1]}
    changes["video.fit"] = fit
    config = load_config(source, changes)
    # Workers settle on their own device; which one does not change the case.
    complete = with_defaults(replace(config, runtime=replace(config.runtime, device="cpu")))
    video = complete.video
    check_length(video.clip.num_frames, video.clip.fps, seconds=seconds, wanted_fps=fps)
    if seconds is not None and "reasoner.until" not in changes:
        scored = math.floor(seconds * video.clip.fps + 1e-6)
        if scored < video.clip.num_frames:
            until = (scored - 1) / (video.clip.num_frames - 1)
            config, complete = (load_config(one, {"reasoner.until": until}) for one in (config, complete))
    chosen = find(method or config.method, config.method)
    check_guidance(chosen, complete)
    refuse_void_guidance(chosen, complete)
    check_names(complete)
    planner = chosen.reasoner(complete.reasoner.name, REASONERS)
    if not chosen.follows_plan or planner != complete.reasoner.name:
        shared = None  # it follows no plan, or one of its own
    return partial(make_preset_generator, config, chosen.name, shared), GenerationConfig(
        generator=f"{config.preset} {chosen.name}",
        settings=deciding_fields(complete),
        seed=seed,
        fit=fit,
        seconds=seconds,
        fps=fps,
    )


def make_preset_generator(config: Config, method: str, shared: Path | None = None) -> Generator:
    """Models are loaded once and kept for all cases of a worker."""
    from physplan.pipeline import PhysPlan

    require_total(config.runtime.total_ledger)
    pp = PhysPlan(config)

    def generator(first: Image, prompt: str, seed: int, directory: Path) -> tuple[np.ndarray, float]:
        states = shared_states(pp, first, prompt, shared) if shared else None
        folder = directory / "run"
        made = pp.generate(
            first, prompt, method=method, seed=seed, output_dir=folder, reuse=states, output_type="np"
        )
        return (made.video * 255).round().astype(np.uint8), made.fps

    return generator


def shared_states(pp: PhysPlan, first: Image, prompt: str, shared: Path) -> Path:
    """The folder of this case's plan, keyframes, evidence and sketch, made by the first to need it."""
    digest = hashlib.sha256(repr((first.mode, first.size, prompt)).encode() + first.tobytes()).hexdigest()
    folder = shared / digest[:16]
    shared.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        pp.sketch(first, prompt, output_dir=folder)
    return folder


def deciding_fields(complete: Config) -> dict[str, Any]:
    """Every setting that can change a video, by its dotted name: the identity of a case."""
    from physplan.pipeline.stage_keys import identity

    return {name: value for name, _, value in identity(complete)}
