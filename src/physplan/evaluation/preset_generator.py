"""A preset or a config file as the generator of a benchmark's videos: any method, a run for each case.

A run's folder lies in its case's (`run/`): a killed one goes on from there, nothing is paid twice, and
`physplan evaluate cost` and `failures` read what it left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Image

from physplan.errors import PhysPlanError
from physplan.evaluation.generation import FitWhole, GenerationConfig, Generator
from physplan.evaluation.money import require_total
from physplan.evaluation.pacing import check_length

if TYPE_CHECKING:
    from physplan.pipeline.config import Config, Source


def use_preset(
    source: Source,
    *,
    method: str = "physplan",
    overrides: Mapping[str, Any] | None = None,
    seed: int = 0,
    size: tuple[int, int] | None = None,
    fit: FitWhole = "stretch",
    seconds: float | None = None,
    fps: float | None = None,
) -> tuple[Callable[[], Generator], GenerationConfig]:
    """What `generate` needs for a preset. What no case could do is refused here, before the first begins."""
    from physplan.guidance.methods import method_config, planner_of
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.requirements import check_names
    from physplan.reasoning.registry import REASONERS

    changes = dict(overrides or {})
    if "video.fit" in changes:
        raise PhysPlanError(
            "Give --fit instead of --set video.fit: a benchmark's first frame is not cropped."
        )
    if size is not None:
        changes |= {"video.height": size[0], "video.width": size[1]}
    config = load_config(source, {**changes, "video.fit": fit})
    # Workers settle on their own device; which one does not change the case.
    complete = with_defaults(replace(config, runtime=replace(config.runtime, device="cpu")))
    video = complete.video
    guidance = method_config(method, physplan=complete.guidance, frame_guidance=complete.frame_guidance)
    guidance.schedule.check(video.num_inference_steps or 0)
    check_names(complete)
    planner_of(method, complete.reasoner.name, REASONERS)
    check_length(video.num_frames or 0, video.fps or 0, seconds=seconds, wanted_fps=fps)
    return partial(make_preset_generator, config, method), GenerationConfig(
        generator=f"{config.preset} {method}",
        settings=deciding_fields(complete),
        seed=seed,
        fit=fit,
        seconds=seconds,
        fps=fps,
    )


def make_preset_generator(config: Config, method: str) -> Generator:
    """Models are loaded once and kept for all cases of a worker."""
    from physplan.pipeline import PhysPlan

    require_total(config.runtime.total_ledger)
    pp = PhysPlan(config)

    def generator(first: Image, prompt: str, seed: int, directory: Path) -> tuple[np.ndarray, float]:
        made = pp.generate(
            first, prompt, method=method, seed=seed, output_dir=directory / "run", output_type="np"
        )
        return (made.video * 255).round().astype(np.uint8), made.fps

    return generator


def deciding_fields(complete: Config) -> dict[str, Any]:
    """Every setting that can change a video, by its dotted name: the identity of a case."""
    from physplan.pipeline.stage_keys import identity

    return {name: value for name, _, value in identity(complete)}
