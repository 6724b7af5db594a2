"""Making the videos that a benchmark wants: one case per prompt, from a first frame and a sentence.

A generator is `function(first_frame, prompt, seed, directory) -> (frames, fps)`: a picture in, (T, H, W, 3)
uint8 out, and a folder in which it may keep what a killed run can go on from. It is made once per worker by a
function without arguments; a preset (`preset_generator`), or a model of a user's own, plugs in there.

The folder of videos says in generation.json how they were made, so that no two ways get mixed in it.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL.Image import Image

from physplan.errors import PhysPlanError
from physplan.files import write_atomic, write_json
from physplan_bench.cases import Case, CaseStore
from physplan_bench.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.resample import pace

Generator = Callable[[Image, str, int, Path], tuple[np.ndarray, float]]
FitWhole = Literal["stretch", "letterbox"]  # never cropped: a video must align with the real one
RECORD = "generation.json"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One video of a benchmark."""

    name: str
    first_frame: Path
    prompt: str
    file: str  # its name in the output folder


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """All of it changes the videos."""

    generator: str  # a preset with its method, or module:function
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the preset
    seed: int = 0
    size: tuple[int, int] | None = None  # (height, width) of the model; None: as the generator resizes
    fit: FitWhole = "stretch"
    seconds: float | None = None  # keep the beginning only
    fps: float | None = None  # None: the generator's own
    events: int | None = None  # that plans are asked to have; None: as the preset asks


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
    identity = _plain(config)
    cases = [
        Case(
            name=item.name,
            identity={
                "benchmark": "generation 2",
                "first_frame": file_digest(item.first_frame),
                "prompt": item.prompt,
                **identity,
            },
        )
        for item in wanted
    ]
    claim_folder(output, [item.file for item in wanted], config)
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
        video, fps = pace(video, fps, seconds=config.seconds, wanted_fps=config.fps)
        about = {"seed": config.seed, "generator": config.generator, "prompt": item.prompt}
        write_video(directory / "video.mp4", video, fps=fps, metadata=about)
        return {"frames": len(video), "fps": fps}

    return do


def claim_folder(output: Path, files: Sequence[str], config: GenerationConfig) -> None:
    """Say in the folder how its videos are made; one with videos made otherwise is left alone."""
    record = read_record(output)
    if record is None:
        if strange := [name for name in files if (output / name).exists()]:
            raise PhysPlanError(
                f"{output / strange[0]} was not made by this command: choose another folder for the videos."
            )
        settings = provenance(protocol="generation", settings=_plain(config), seeds=[config.seed])
        write_json(output / RECORD, settings)
    elif changed := _differences(record["settings"], _plain(config)):
        raise PhysPlanError(
            f"{output} holds videos made with other settings ({changed}): choose another folder for these."
        )


def read_record(output: Path) -> dict[str, Any] | None:
    """How the videos of a folder were made, where this package made them."""
    try:
        record = json.loads((output / RECORD).read_text(encoding="utf-8"))
        return {**record, "settings": dict(record["settings"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PhysPlanError(
            f"{output / RECORD} does not say how the videos were made ({error!r}): choose another folder."
        ) from error


def _plain(config: GenerationConfig) -> dict[str, Any]:
    plain = dict(json.loads(json.dumps(asdict(config))))
    return plain if config.events is not None else {k: v for k, v in plain.items() if k != "events"}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    from physplan.pipeline.stage_keys import differences

    def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {**settings, **(settings.get("settings") or {}), "settings": None}

    found = differences(flat(before), flat(now))
    return "; ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def load_generator(spec: str) -> Callable[[], Generator]:
    """`module:function`, the function that makes a generator."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
        raise PhysPlanError(f"{spec!r} names no generator: give module:function.")
    module, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise PhysPlanError(f"The generator {spec} cannot be loaded ({error}).") from error
