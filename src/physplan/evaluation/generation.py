"""Making the videos that a benchmark wants: one case per prompt, from a first frame and a sentence.

A generator is `function(first_frame, prompt, seed) -> (frames, fps)`, frames as (T, H, W, 3) uint8; it is
made once per worker by a function without arguments. A preset, or a model of a user's own, plugs in there.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from physplan.errors import PhysPlanError
from physplan.evaluation.cases import Case, CaseStore
from physplan.evaluation.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan.evaluation.provenance import file_digest
from physplan.files import write_atomic

Generator = Callable[[np.ndarray, str, int], tuple[np.ndarray, float]]
Fit = Literal["stretch", "letterbox", "as is"]


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
    size: tuple[int, int] | None = None  # (height, width) of the model; None: the generator decides
    fit: Fit = "stretch"  # how another aspect ratio is brought to that size, and back
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

    from physplan.video.files import write_video

    generator = make_generator()

    def do(case: Case, directory: Path) -> Mapping[str, Any]:
        item = wanted[case.name]
        picture = read_picture(item.first_frame)
        frames, fps = generator(fit_picture(picture, config), item.prompt, config.seed)
        frames = undo_fit(frames, picture.shape[:2], config)
        if config.seconds is not None:
            count = round(config.seconds * fps)
            if len(frames) < count:
                raise PhysPlanError(
                    f"The video for {item.name} has {len(frames)} frames at {fps:g} FPS; "
                    f"{config.seconds:g} s need {count}."
                )
            frames = frames[:count]
        pixels = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 255
        write_video(directory / "video.mp4", pixels, fps=fps, metadata={"seed": config.seed})
        return {"frames": len(frames), "fps": fps}

    return do


def fit_picture(picture: np.ndarray, config: GenerationConfig) -> np.ndarray:
    """To the model's size without cropping: what is cut off could not be compared with the real video."""
    import cv2

    if config.size is None or config.fit == "as is":
        return picture
    height, width = config.size
    if config.fit == "stretch":
        return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    top, left, inner_height, inner_width = letterbox(picture.shape[:2], config.size)
    canvas = np.zeros((height, width, 3), np.uint8)
    inner = cv2.resize(picture, (inner_width, inner_height), interpolation=cv2.INTER_AREA)
    canvas[top : top + inner_height, left : left + inner_width] = inner
    return canvas


def undo_fit(frames: np.ndarray, original: Sequence[int], config: GenerationConfig) -> np.ndarray:
    """Back to the aspect ratio of the picture: bars away, or the stretch undone. The sides stay even."""
    import cv2

    if config.size is None or config.fit == "as is":
        return frames
    if config.fit == "letterbox":
        top, left, height, width = letterbox(original, config.size)
        return frames[:, top : top + height // 2 * 2, left : left + width // 2 * 2]
    height = frames.shape[1]
    width = round(height * original[1] / original[0] / 2) * 2
    return np.stack([cv2.resize(frame, (width, height)) for frame in frames])


def letterbox(original: Sequence[int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of a picture inside a frame of another shape."""
    scale = min(size[0] / original[0], size[1] / original[1])
    height, width = round(original[0] * scale), round(original[1] * scale)
    return (size[0] - height) // 2, (size[1] - width) // 2, height, width


def read_picture(path: Path) -> np.ndarray:
    from physplan.reasoning.picture import Picture

    return np.array(Picture.open(path).image)


def load_generator(spec: str) -> Callable[[], Generator]:
    """`module:function`, the function that makes a generator."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
        raise PhysPlanError(f"{spec!r} names no generator: give module:function.")
    module, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise PhysPlanError(f"The generator {spec} cannot be loaded ({error}).") from error
