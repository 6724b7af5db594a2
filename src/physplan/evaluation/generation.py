"""Making the videos that a benchmark wants: one case per prompt, from a first frame and a sentence.

A generator is `function(first_frame, prompt, seed, directory) -> (frames, fps)`: a picture in, (T, H, W, 3)
uint8 out, and a folder in which it may keep what a killed run can go on from. It is made once per worker by a
function without arguments; a preset, or a model of a user's own, plugs in there.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL.Image import Image

from physplan.errors import PhysPlanError
from physplan.evaluation.cases import Case, CaseStore
from physplan.evaluation.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan.evaluation.provenance import file_digest
from physplan.files import write_atomic

if TYPE_CHECKING:
    from torch import Tensor

Generator = Callable[[Image, str, int, Path], tuple[np.ndarray, float]]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One video of a benchmark."""

    name: str
    first_frame: Path
    prompt: str
    file: str  # its name in the output folder


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """All of it changes the videos. `generator` names the method with its settings."""

    generator: str
    seed: int = 0
    size: tuple[int, int] | None = None  # (height, width) of the model; None: the generator sees to it
    fit: Literal["stretch", "letterbox"] = "stretch"  # never cropped: it must align with the real video
    seconds: float | None = None  # keep the beginning only


def generate(
    wanted: Sequence[Wanted],
    make_generator: Callable[[], Generator],
    output: Path,
    work: Path,
    *,
    config: GenerationConfig,
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RunReport:
    """Make what is missing, and put every finished video into `output` under the name the benchmark wants."""
    cases = [
        Case(
            name=item.name,
            identity={
                "benchmark": "generation 1",
                "first_frame": file_digest(item.first_frame),
                "prompt": item.prompt,
                "generator": config.generator,
                "seed": config.seed,
                "size": list(config.size) if config.size else None,
                "fit": config.fit,
                "seconds": config.seconds,
            },
        )
        for item in wanted
    ]
    by_name = {item.name: item for item in wanted}
    setup = partial(make_case_function, make_generator, by_name, config)
    report = run_cases(cases, setup, work, config=engine, progress=progress)
    store = CaseStore(work)
    for case in cases:
        if case.name in report.results:
            write_atomic(output / by_name[case.name].file, (store.directory(case) / "video.mp4").read_bytes())
    return report


def make_case_function(
    make_generator: Callable[[], Generator], wanted: Mapping[str, Wanted], config: GenerationConfig
) -> CaseFunction:
    import torch

    from physplan.reasoning.picture import Picture
    from physplan.video.files import write_video
    from physplan.video.fit import fit_picture

    generator = make_generator()

    def do(case: Case, directory: Path) -> Mapping[str, Any]:
        item = wanted[case.name]
        picture = first = Picture.open(item.first_frame).image
        if config.size:
            first, fit = fit_picture(picture, height=config.size[0], width=config.size[1], mode=config.fit)
        frames, fps = generator(first, item.prompt, config.seed, directory)
        video = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 255
        if config.size:
            video = fit.undo(video, picture)
        if config.seconds is not None:
            video = _beginning(video, round(config.seconds * fps), item.name, fps)
        write_video(directory / "video.mp4", video, fps=fps, metadata={"seed": config.seed})
        return {"frames": len(video), "fps": fps}

    return do


def _beginning(video: Tensor, count: int, name: str, fps: float) -> Tensor:
    if len(video) < count:
        raise PhysPlanError(
            f"The video for {name} has {len(video)} frames at {fps:g} FPS; {count} are needed."
        )
    return video[:count]


def load_generator(spec: str) -> Callable[[], Generator]:
    """`module:function`, the function that makes a generator."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
        raise PhysPlanError(f"{spec!r} names no generator: give module:function.")
    module, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise PhysPlanError(f"The generator {spec} cannot be loaded ({error}).") from error
